/*
 * read: what the layers show at each path, for people who want to see a change. Answers `type`, `mode`, `size`,
 * `digest`, `attributes`, `length`, and then exactly that many bytes and a NUL. A file longer than the limit (--most, or one MiB)
 * answers its first bytes only; with --digests the digest (BLAKE3) of each comes along, unless it is so long that no
 * one would wait for that.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_LIMIT = 1024 * 1024, DIGEST_LIMIT = 1024 * 1024 * 1024 };

static struct buffer shown_attributes;

static void put_bytes(const char *type, const struct stat *status, const char *digest, const char *bytes,
                      size_t length) {
  put_field(type);
  put_number(status->st_mode & 07777, true);
  put_number(S_ISREG(status->st_mode) ? (uint64_t)status->st_size : length, false);
  put_field(digest);
  put_raw(shown_attributes.data, shown_attributes.length - 1);
  put_number(length, false);
  put_raw(bytes, length);
}

/* From where the file was read to, whose first bytes are these. */
static void digest_file(int fd, const char *name, const char *bytes, size_t length, char text[65]) {
  static char part[COPY_BUFFER];
  struct blake3 hash;
  blake3_begin(&hash);
  blake3_add(&hash, bytes, length);
  for (uint64_t left = DIGEST_LIMIT; left > 0;) {
    ssize_t got = read(fd, part, left < sizeof part ? (size_t)left : sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, "read", name);
    if (got == 0) break;
    blake3_add(&hash, part, (size_t)got);
    left -= (uint64_t)got;
  }
  blake3_end(&hash, text);
}

/* -1 where something else took its place, or nothing: in a layer that is being written. */
static ssize_t read_file(int directory, const char *name, struct stat *status, struct buffer *into,
                         const struct options *options, char digest[65]) {
  size_t limit = options->most == 0 ? READ_LIMIT : (size_t)options->most;
  int fd = open_seen_regular(directory, name, status);
  if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ELOOP)) return -1;
  if (fd < 0) fail(errno, "open", name);
  size_t length = 0, room = (size_t)status->st_size < limit ? (size_t)status->st_size : limit;
  if (room > into->capacity) {
    into->data = reallocate(into->data, room);
    into->capacity = room;
  }
  while (length < room) {
    ssize_t got = read(fd, into->data + length, room - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, "read", name);
    if (got == 0) break;
    length += (size_t)got;
  }
  if (options->digests && (uint64_t)status->st_size <= DIGEST_LIMIT) digest_file(fd, name, into->data, length, digest);
  close(fd);
  return (ssize_t)length;
}

/* The same of a link. */
static ssize_t read_link(int directory, const char *name, struct buffer *into) {
  ssize_t length = readlinkat(directory, name, into->data, READ_LIMIT);
  if (length < 0 && errno != ENOENT && errno != EINVAL) fail(errno, "readlink", name);
  return length;
}

int read_verb(const struct options *options) {
  struct resolver layers = {.root = open_layers(&options->layers)};
  struct records records = read_records();
  struct buffer bytes = {.data = reallocate(NULL, READ_LIMIT), .capacity = READ_LIMIT};
  for (const char *path; (path = next_record(&records)) != NULL;) {
    if (!is_plain_path(path)) fail(EINVAL, "read", path);
    struct found found;
    resolve(&layers, path, &found);
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    char digest[65] = "";
    ssize_t size = found.state != FOUND_ENTRY ? -1
                   : S_ISREG(found.status.st_mode)
                       ? read_file(found.directory, name, &found.status, &bytes, options, digest)
                   : S_ISLNK(found.status.st_mode) ? read_link(found.directory, name, &bytes)
                                                   : 0;
    shown_attributes.length = 0;
    bool bears = size >= 0 && (S_ISREG(found.status.st_mode) || S_ISDIR(found.status.st_mode));
    if (bears)
      show_attributes(found.directory, name, &shown_attributes);
    else
      append(&shown_attributes, "", 1);
    if (size < 0) {
      put_bytes("missing", &(struct stat){0}, "", "", 0);
    } else if (S_ISREG(found.status.st_mode)) {
      put_bytes("file", &found.status, digest, bytes.data, (size_t)size);
    } else if (S_ISLNK(found.status.st_mode)) {
      put_bytes("symlink", &found.status, "", bytes.data, (size_t)size);
    } else {
      put_bytes(type_name(found.status.st_mode), &found.status, "", "", 0);
    }
  }
  return 0;
}
