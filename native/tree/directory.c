/* Directories by fd: listings, anchored opening. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_dirent {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

static int by_name(const void *left, const void *right) {
  return strcmp(((const struct name *)left)->text, ((const struct name *)right)->text);
}

/* A directory that changes under readdir may give a name twice. */
static void drop_duplicates(struct listing *listing) {
  size_t kept = 0;
  for (size_t i = 0; i < listing->count; i++)
    if (kept == 0 || strcmp(listing->names[kept - 1].text, listing->names[i].text) != 0)
      listing->names[kept++] = listing->names[i];
  listing->count = kept;
}

int list_directory(int fd, struct listing *listing) {
  static __thread char block[COPY_BUFFER] __attribute__((aligned(8)));
  *listing = (struct listing){0};
  if (lseek(fd, 0, SEEK_SET) < 0) return errno;
  struct buffer names = {0}; /* type byte, name, NUL; pointers are made once it no longer moves */
  size_t count = 0;
  for (;;) {
    long length = syscall(SYS_getdents64, fd, block, sizeof block);
    if (length < 0 && errno == ENOENT) break; /* removed since it was opened: only an empty one can be */
    if (length < 0) {
      int error = errno;
      free(names.data);
      return error;
    }
    if (length == 0) break;
    for (long at = 0; at < length;) {
      const struct kernel_dirent *entry = (const void *)(block + at);
      at += entry->length;
      const char *name = entry->name;
      if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) continue;
      append(&names, &entry->type, 1);
      append(&names, name, strlen(name) + 1);
      count++;
    }
  }
  listing->storage = names.data;
  listing->names = allocate(count * sizeof *listing->names);
  listing->count = count;
  const char *at = names.data;
  for (size_t i = 0; i < count; i++) {
    listing->names[i] = (struct name){at + 1, (unsigned char)*at};
    at += strlen(at + 1) + 2;
  }
  if (count > 1) qsort(listing->names, count, sizeof *listing->names, by_name);
  drop_duplicates(listing);
  return 0;
}

void free_listing(struct listing *listing) {
  free(listing->names);
  free(listing->storage);
  *listing = (struct listing){0};
}

int open_directory(int parent, const char *name) {
  return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

int open_same_mount(int parent, const char *name) {
  struct open_how how = {
      .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  int fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  /* A sandbox without openat2: other filesystems are still recognised, by their device. */
  struct stat above, below;
  fd = open_directory(parent, name);
  if (fd < 0 || (fstat(parent, &above) == 0 && fstat(fd, &below) == 0 && above.st_dev == below.st_dev)) return fd;
  close(fd);
  errno = EXDEV;
  return -1;
}

/*
 * The time of reading is the person's, and writing it down costs as much as reading a small file. Refused for files of
 * others.
 */
static int open_unnoticed(int parent, const char *name) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int fd = openat(parent, name, flags | O_NOATIME);
  return fd >= 0 || errno != EPERM ? fd : openat(parent, name, flags);
}

int open_regular(int parent, const char *name, struct stat *status) {
  if (fstatat(parent, name, status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return -1;
  return open_seen_regular(parent, name, status);
}

/* A type that must not be opened (a device may act on it) is turned away before, a swapped one after. */
int open_seen_regular(int parent, const char *name, struct stat *status) {
  if (!S_ISREG(status->st_mode)) {
    errno = ENXIO;
    return -1;
  }
  int fd = open_unnoticed(parent, name);
  if (fd < 0) return -1;
  int error = fstat(fd, status) != 0 ? errno : S_ISREG(status->st_mode) ? 0 : ENXIO;
  if (error == 0) return fd;
  close(fd);
  errno = error;
  return -1;
}

bool is_plain_path(const char *path) {
  for (const char *at = path;; at++) {
    size_t length = strcspn(at, "/");
    if (length == 0 || (length == 1 && at[0] == '.') || (length == 2 && at[0] == '.' && at[1] == '.')) return false;
    at += length;
    if (*at == '\0') return true;
  }
}

bool is_top_path(const char *path) {
  return path[0] == '.' && path[1] == '\0';
}

/* Setgid is left out: who may keep it differs between the two sides. */
bool same_top(const struct stat *left, const struct stat *right) {
  return ((left->st_mode ^ right->st_mode) & 01777) == 0 && left->st_uid == right->st_uid &&
         left->st_gid == right->st_gid;
}

static int open_step_by_step(int root, const char *path, size_t length) {
  int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
  const char *end = path + length;
  char name[NAME_MAX + 1];
  while (fd >= 0 && path < end) {
    size_t step = strcspn(path, "/");
    if (step > (size_t)(end - path)) step = (size_t)(end - path);
    int next = -1, error = ENAMETOOLONG;
    if (step <= NAME_MAX) {
      memcpy(name, path, step);
      name[step] = '\0';
      next = open_directory(fd, name);
      error = errno;
    }
    close(fd);
    fd = next;
    errno = error;
    path += step + 1;
  }
  return fd;
}

/* As much of the path as one call can take, cut between components; 0: take single steps. */
static size_t stretch(const char *path, size_t length) {
  if (length < PATH_MAX) return length;
  size_t cut = PATH_MAX - 1;
  while (cut > 0 && path[cut] != '/') cut--;
  return cut;
}

int open_beneath(int root, const char *path, size_t length) {
  struct open_how how = {
      .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
  while (fd >= 0 && length > 0) {
    char part[PATH_MAX];
    size_t cut = stretch(path, length);
    memcpy(part, path, cut);
    part[cut] = '\0';
    int next = cut == 0 ? -1 : (int)syscall(SYS_openat2, fd, part, &how, sizeof how);
    /* EAGAIN: a rename raced; ENOSYS, EPERM: a sandbox without openat2. Single steps hold against all of them. */
    if (cut == 0 || (next < 0 && (errno == EAGAIN || errno == ENOSYS || errno == EPERM))) {
      next = open_step_by_step(fd, path, length);
      cut = length;
    }
    int error = errno;
    close(fd);
    errno = error;
    fd = next;
    path += cut;
    length -= cut;
    if (length > 0) { /* the slash */
      path++;
      length--;
    }
  }
  return fd;
}

static struct known_root *known_roots;
static size_t known_count;

void know_root(struct known_root root) {
  known_roots = reallocate(known_roots, (known_count + 1) * sizeof *known_roots);
  known_roots[known_count++] = root;
}

bool is_known_root(const char *path) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(known_roots[i].path, path) == 0) return true;
  return false;
}

static int open_known_root(const struct known_root *root) {
  struct stat status;
  int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) fail(errno, "open", "/");
  int fd = open_beneath(top, root->path + 1, strlen(root->path + 1));
  if (fd < 0) fail(errno == ELOOP || errno == ENOTDIR || errno == ENOENT ? ESTALE : errno, "open", root->path);
  close(top);
  if (fstat(fd, &status) != 0) fail(errno, "stat", root->path);
  if (status.st_ino != root->identity.inode || status.st_dev != root->identity.device) fail(ESTALE, "open", root->path);
  return fd;
}

/* Of the store, or of a caller that names no identity: links in it are the caller's business. */
int open_named_root(const char *path) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(known_roots[i].path, path) == 0) return open_known_root(&known_roots[i]);
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(errno, "open", path);
  return fd;
}

void anchor_forget(struct anchor *anchor) {
  if (anchor->parent != NULL && anchor->parent_fd >= 0) close(anchor->parent_fd);
  free(anchor->parent);
  anchor->parent = NULL;
}

static bool is_known_missing(const struct anchor *anchor, const char *path, size_t length) {
  return anchor->missing != NULL && strncmp(anchor->missing, path, length) == 0 && anchor->missing[length] == '\0';
}

static void remember_missing(struct anchor *anchor, const char *path, size_t length) {
  if (!anchor->reads) return;
  anchor->why = errno;
  free(anchor->missing);
  anchor->missing = allocate(length + 1);
  memcpy(anchor->missing, path, length);
  errno = anchor->why;
}

int anchor_parent(struct anchor *anchor, const char *path, const char **name) {
  const char *slash = strrchr(path, '/');
  *name = slash == NULL ? path : slash + 1;
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  if (length == 0) return anchor->root;
  if (anchor->parent != NULL && anchor->parent_length == length && memcmp(anchor->parent, path, length) == 0)
    return anchor->parent_fd;
  /* Sorted lists go down from a parent to its children: a deep path is not walked from the root each time. */
  bool below = anchor->parent != NULL && anchor->parent_length < length &&
               memcmp(anchor->parent, path, anchor->parent_length) == 0 && path[anchor->parent_length] == '/';
  size_t known = below ? anchor->parent_length + 1 : 0;
  if (is_known_missing(anchor, path, length)) return errno = anchor->why, -1;
  int fd = open_beneath(below ? anchor->parent_fd : anchor->root, path + known, length - known);
  if (fd < 0) return remember_missing(anchor, path, length), -1;
  anchor_forget(anchor);
  anchor->parent = allocate(length + 1);
  memcpy(anchor->parent, path, length);
  anchor->parent_length = length;
  anchor->parent_fd = fd;
  return fd;
}
