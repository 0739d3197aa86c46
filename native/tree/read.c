/*
 * read: what the layers show at each path, for people who want to see a change. Answers `type`, `length`, and then exactly
 * that many bytes and a NUL; a file longer than the limit answers its first bytes only.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_LIMIT = 1024 * 1024 };

static void put_bytes(const char *type, const char *bytes, size_t length) {
  put_field(type);
  put_number(length, false);
  put_raw(bytes, length);
}

static size_t read_file(int directory, const char *name, char *into) {
  int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) fail(errno, "open", name);
  size_t length = 0;
  while (length < READ_LIMIT) {
    ssize_t got = read(fd, into + length, READ_LIMIT - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, "read", name);
    if (got == 0) break;
    length += (size_t)got;
  }
  close(fd);
  return length;
}

int read_verb(const struct options *options) {
  struct resolver layers = {.root = open_layers(&options->layers)};
  struct records records = read_records();
  char *bytes = reallocate(NULL, READ_LIMIT);
  for (const char *path; (path = next_record(&records)) != NULL;) {
    if (!is_plain_path(path)) fail(EINVAL, "read", path);
    struct found found;
    resolve(&layers, path, &found);
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    if (found.state != FOUND_ENTRY) {
      put_bytes("missing", "", 0);
    } else if (S_ISREG(found.status.st_mode)) {
      put_bytes("file", bytes, read_file(found.directory, name, bytes));
    } else if (S_ISLNK(found.status.st_mode)) {
      ssize_t length = readlinkat(found.directory, name, bytes, READ_LIMIT);
      if (length < 0) fail(errno, "readlink", path);
      put_bytes("symlink", bytes, (size_t)length);
    } else {
      put_bytes("other", "", 0);
    }
  }
  return 0;
}
