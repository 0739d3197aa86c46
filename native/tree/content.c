/* Bytes of files: copied the cheapest way the filesystems offer, holes kept; compared without reading holes. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static __thread char buffer[COPY_BUFFER];

static bool is_sparse(const struct stat *status) {
  return (uint64_t)status->st_blocks * 512 < (uint64_t)status->st_size;
}

/* `limit` bytes at most, from both current offsets; ends early at the end of the file. */
static int copy_by_hand(int from, int to, uint64_t limit, atomic_ullong *copied) {
  while (limit > 0) {
    ssize_t length = read(from, buffer, limit < sizeof buffer ? (size_t)limit : sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno;
    if (length == 0) return 0;
    int error = write_all(to, buffer, (size_t)length);
    if (error != 0) return error;
    atomic_fetch_add(copied, (unsigned long long)length);
    limit -= (uint64_t)length;
  }
  return 0;
}

static int copy_in_kernel(int from, int to, uint64_t limit, atomic_ullong *copied) {
  bool any = false;
  while (limit > 0) {
    /* In steps, so that progress shows. */
    ssize_t length = copy_file_range(from, NULL, to, NULL, limit < (64 << 20) ? (size_t)limit : 64 << 20, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG)) return errno;
    /* Not between these filesystems, or a file that says it is empty: both offsets still agree. */
    if (length < 0 || (length == 0 && !any)) return copy_by_hand(from, to, limit, copied);
    if (length == 0) return 0;
    any = true;
    atomic_fetch_add(copied, (unsigned long long)length);
    limit -= (uint64_t)length;
  }
  return 0;
}

/*
 * Where the next bytes are; `size`: there are only holes. On a filesystem that does not know them, and where it fails,
 * there may be bytes anywhere.
 */
static off_t next_data(int fd, off_t at, off_t size) {
  off_t data = lseek(fd, at, SEEK_DATA);
  return data >= 0 ? data : errno == ENXIO ? size : at;
}

static int copy_sparse(int from, int to, off_t size, atomic_ullong *copied) {
  for (off_t at = 0; at < size;) {
    off_t data = next_data(from, at, size);
    if (data >= size) break;
    off_t hole = lseek(from, data, SEEK_HOLE);
    if (hole <= data || hole > size) hole = size;
    if (lseek(from, data, SEEK_SET) < 0 || lseek(to, data, SEEK_SET) < 0) return errno;
    int error = copy_in_kernel(from, to, (uint64_t)(hole - data), copied);
    if (error != 0) return error;
    at = hole;
  }
  return ftruncate(to, size) != 0 ? errno : 0;
}

int copy_content(int from, int to, const struct stat *status, atomic_ullong *copied) {
  static atomic_bool no_clones;
  if (status->st_size == 0) return 0;
  if (!atomic_load_explicit(&no_clones, memory_order_relaxed)) {
    if (ioctl(to, FICLONE, from) == 0) {
      atomic_fetch_add(copied, (unsigned long long)status->st_size);
      return 0;
    }
    /* EXDEV is about this pair of mounts; these are about the destination. */
    if (errno == EOPNOTSUPP || errno == ENOTTY || errno == ENOSYS) atomic_store(&no_clones, true);
  }
  if (is_sparse(status)) return copy_sparse(from, to, status->st_size, copied);
  /* What is written to it from here on is seen by whoever looks at its times afterwards. */
  if (status->st_size <= COPY_BUFFER) return copy_by_hand(from, to, (uint64_t)status->st_size, copied);
  return copy_in_kernel(from, to, UINT64_MAX, copied);
}

static bool same_bytes(int left, const struct stat *left_status, int right, const struct stat *right_status) {
  const size_t half = sizeof buffer / 2;
  bool sparse = is_sparse(left_status) || is_sparse(right_status);
  off_t size = left_status->st_size;
  for (off_t at = 0; at < size;) {
    if (sparse) { /* go where at least one of them has data */
      off_t a = next_data(left, at, size), b = next_data(right, at, size);
      at = a < b ? a : b;
      if (at >= size) return true;
    }
    ssize_t a = pread(left, buffer, half, at);
    ssize_t b = pread(right, buffer + half, half, at);
    if (a < 0 || b < 0) fail_here(errno, "read");
    if (a != b || memcmp(buffer, buffer + half, (size_t)a) != 0) return false;
    if (a == 0) return true;
    at += a;
  }
  return true;
}

static bool same_target(int left_directory, int right_directory, const char *left_name, const char *right_name) {
  char *right = buffer + PATH_MAX;
  ssize_t a = readlinkat(left_directory, left_name, buffer, PATH_MAX);
  ssize_t b = readlinkat(right_directory, right_name, right, PATH_MAX);
  return a >= 0 && a == b && memcmp(buffer, right, (size_t)a) == 0;
}

/* -1: not what was seen, or of a layer that is being written. */
static int open_layer_file(int directory, const char *name, struct stat *status) {
  int fd = open_seen_regular(directory, name, status);
  if (fd < 0 && errno != ENOENT && errno != ENXIO && errno != ELOOP) fail_here(errno, "open");
  return fd;
}

static bool is_same_inode(const struct stat *left, const struct stat *right) {
  return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

bool same_content_as(int directory, const struct stat *status, const char *name, int open, const struct stat *opened) {
  if (status->st_size != opened->st_size) return false;
  if (status->st_size == 0 || is_same_inode(status, opened)) return true;
  struct stat now = *status;
  int fd = open_layer_file(directory, name, &now);
  if (fd < 0) return false;
  bool same = now.st_size == opened->st_size && same_bytes(fd, &now, open, opened);
  close(fd);
  return same;
}

bool same_content(int left_directory, const struct stat *left, int right_directory, const struct stat *right,
                  const char *left_name, const char *right_name) {
  if ((left->st_mode & S_IFMT) != (right->st_mode & S_IFMT)) return false;
  if (S_ISLNK(left->st_mode)) return same_target(left_directory, right_directory, left_name, right_name);
  if (S_ISCHR(left->st_mode) || S_ISBLK(left->st_mode)) return left->st_rdev == right->st_rdev;
  if (!S_ISREG(left->st_mode)) return true;
  if (left->st_size != right->st_size) return false;
  if (left->st_size == 0 || is_same_inode(left, right)) return true;
  struct stat now = *right;
  int fd = open_seen_regular(right_directory, right_name, &now);
  if (fd < 0) {
    if (errno != ENOENT && errno != ENXIO && errno != ELOOP && errno != EACCES && errno != EPERM)
      fail_here(errno, "open");
    return false; /* replaced a moment ago, or not ours to read: whoever asks must not take it for the same */
  }
  bool same = same_content_as(left_directory, left, left_name, fd, &now);
  close(fd);
  return same;
}
