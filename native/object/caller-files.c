#include "caller-files.h"

#include "wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* So much of a frame is room for what is asked for. */
enum { CONTENT_MOST = 1 << 20 };

static int open_beneath(int directory, const char *path, int flags, mode_t mode) {
  struct open_how how = {
      .flags = (uint64_t)(flags | O_CLOEXEC),
      .mode = flags & O_CREAT ? mode : 0,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
  };
  int opened;
  /* EAGAIN: a rename meanwhile, so that the kernel cannot say whether it stayed beneath. */
  for (int tries = 0; tries < 100; tries++) {
    opened = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (opened >= 0 || errno != EAGAIN) break;
  }
  return opened;
}

static char *put(char *at, uint64_t value, int bytes) {
  for (int each = 0; each < bytes; each++) *at++ = (char)(value >> (8 * each));
  return at;
}

static uint64_t take(const char *at, int bytes) {
  uint64_t value = 0;
  for (int each = 0; each < bytes; each++) value |= (uint64_t)(unsigned char)at[each] << (8 * each);
  return value;
}

static unsigned char type_of(mode_t mode) {
  return (unsigned char)IFTODT(mode);
}

static char *put_attributes(char *at, const struct stat *about) {
  at = put(at, type_of(about->st_mode), 1);
  at = put(at, about->st_mode & 07777, 4);
  at = put(at, (uint64_t)about->st_size, 8);
  return put(at, (uint64_t)about->st_mtim.tv_sec, 8);
}

struct request {
  char what;
  uint32_t flags;
  uint64_t offset;
  size_t length;
  const char *path;
  const char *bytes;
  size_t count;
  int directory;
};

static int read_content(const struct request *asked, char *at, char **end) {
  /* Not what waits for somebody, as a pipe does. */
  int file = open_beneath(asked->directory, asked->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (file < 0) return errno;
  struct stat about;
  int failed = fstat(file, &about) != 0  ? errno
               : S_ISDIR(about.st_mode)  ? EISDIR
               : !S_ISREG(about.st_mode) ? ENXIO
                                         : 0;
  if (!failed) {
    at = put_attributes(at, &about);
    size_t wanted = asked->length < CONTENT_MOST ? asked->length : CONTENT_MOST;
    for (size_t had = 0; had < wanted;) {
      ssize_t got = pread(file, at, wanted - had, (off_t)(asked->offset + had));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) failed = errno;
      if (got <= 0) break;
      at += got;
      had += (size_t)got;
    }
    *end = at;
  }
  close(file);
  return failed;
}

static int look_at(const struct request *asked, char *at, char **end) {
  int entry = open_beneath(asked->directory, asked->path, O_PATH | O_NOFOLLOW, 0);
  if (entry < 0) return errno;
  struct stat about;
  int failed = fstat(entry, &about) != 0 ? errno : 0;
  if (!failed) {
    at = put_attributes(at, &about);
    if (S_ISLNK(about.st_mode)) {
      ssize_t got = readlinkat(entry, "", at, 4096);
      if (got < 0)
        failed = errno;
      else
        at += got;
    }
    *end = at;
  }
  close(entry);
  return failed;
}

static int list_entries(const struct request *asked, char *at, char **end) {
  int place = open_beneath(asked->directory, asked->path, O_RDONLY | O_DIRECTORY, 0);
  if (place < 0) return errno;
  DIR *entries = fdopendir(place);
  if (!entries) {
    int failed = errno;
    close(place);
    return failed;
  }
  char *more = at;
  at = put(at, 0, 1);
  const char *last = at + CONTENT_MOST - 512;
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (at > last) {
      *more = 1;
      break;
    }
    struct stat about = {0};
    if (fstatat(dirfd(entries), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue; /* gone meanwhile */
    at = put(at, type_of(about.st_mode), 1);
    at = put(at, (uint64_t)about.st_size, 8);
    at = stpcpy(at, entry->d_name) + 1;
  }
  closedir(entries);
  *end = at;
  return 0;
}

/* One name after the other, each in the directory that was opened before it. */
static int make_parents(const struct request *asked) {
  char path[4096];
  if (strlen(asked->path) >= sizeof path) return ENAMETOOLONG;
  strcpy(path, asked->path);
  for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    int there = open_beneath(asked->directory, path, O_PATH | O_DIRECTORY, 0);
    if (there < 0 && errno == ENOENT) {
      char *name = strrchr(path, '/');
      int above = asked->directory;
      if (name) {
        *name = 0;
        above = open_beneath(asked->directory, path, O_PATH | O_DIRECTORY, 0);
        *name = '/';
        if (above < 0) return errno;
      }
      int failed = mkdirat(above, name ? name + 1 : path, 0777) != 0 && errno != EEXIST ? errno : 0;
      if (name) close(above);
      if (failed) return failed;
    } else if (there < 0) {
      return errno;
    } else {
      close(there);
    }
    *slash = '/';
  }
  return 0;
}

static int write_content(const struct request *asked) {
  int failed = asked->flags & WRITE_PARENTS ? make_parents(asked) : 0;
  if (failed) return failed;
  int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY;
  if (asked->flags & WRITE_NEW)
    flags |= O_CREAT | O_EXCL;
  else if (!(asked->flags & WRITE_MORE))
    flags |= O_CREAT;
  int file = open_beneath(asked->directory, asked->path, flags, 0666);
  if (file < 0) return errno;
  struct stat about;
  failed = fstat(file, &about) != 0 ? errno : !S_ISREG(about.st_mode) ? ENXIO : 0;
  if (!failed && !(asked->flags & WRITE_MORE) && ftruncate(file, 0) != 0) failed = errno;
  off_t offset = asked->flags & WRITE_MORE ? (off_t)asked->offset : 0;
  for (size_t had = 0; !failed && had < asked->count;) {
    ssize_t put_there = pwrite(file, asked->bytes + had, asked->count - had, offset + (off_t)had);
    if (put_there < 0 && errno == EINTR) continue;
    if (put_there < 0)
      failed = errno;
    else
      had += (size_t)put_there;
  }
  if (close(file) != 0 && !failed) failed = errno;
  return failed;
}

static int act(const struct request *asked, char *at, char **end) {
  switch (asked->what) {
  case 'r':
    return read_content(asked, at, end);
  case 's':
    return look_at(asked, at, end);
  case 'l':
    return list_entries(asked, at, end);
  case 'w':
    return write_content(asked);
  default:
    return ENOSYS;
  }
}

size_t do_to_file(const char *request, size_t size, char *reply) {
  enum { HEAD = 17 };
  struct request asked = {.directory = -1};
  char *end = reply + 4;
  int failed = EINVAL;
  const char *root = request + HEAD;
  const char *root_end = size > HEAD ? memchr(root, 0, size - HEAD) : NULL;
  const char *path_end = root_end ? memchr(root_end + 1, 0, size - (size_t)(root_end + 1 - request)) : NULL;
  if (path_end) {
    asked.what = request[0];
    asked.flags = (uint32_t)take(request + 1, 4);
    asked.offset = take(request + 5, 8);
    asked.length = (size_t)take(request + 13, 4);
    asked.path = root_end + 1;
    asked.bytes = path_end + 1;
    asked.count = size - (size_t)(path_end + 1 - request);
    asked.directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    failed = asked.directory < 0 ? errno : act(&asked, reply + 4, &end);
    if (asked.directory >= 0) close(asked.directory);
  }
  put(reply, (uint64_t)failed, 4);
  return failed ? 4 : (size_t)(end - reply);
}
