/*
 * digest: one digest (BLAKE3) for each layer: names, types, modes, owners, contents, link targets, device numbers and
 * user attributes of all it holds, in the order of the names; times and hard links do not count. Each thing says how
 * long it is before it comes, so that no two trees give the same bytes.
 *
 * No layer is mounted. Where one holds more than --most bytes the answer is empty: the process that waits does so for
 * small ones only.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

struct sum {
  struct blake3 hash;
  uint64_t left; /* bytes that may still be read */
  bool large;
};

static void add_text(struct sum *sum, const char *text) {
  blake3_add(&sum->hash, text, strlen(text) + 1);
}

static void add_number(struct sum *sum, uint64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)number);
  add_text(sum, text);
}

/*
 * The user's own, and the two marks by which overlay hides what lies below; its notes of where a file came from do not
 * count.
 */
static bool counts(const char *name) {
  if (strncmp(name, "user.", 5) != 0) return false;
  return strncmp(name, "user.overlay.", 13) != 0 || strcmp(name, "user.overlay.opaque") == 0 ||
         strcmp(name, "user.overlay.whiteout") == 0;
}

static int by_name(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_attributes(struct sum *sum, int fd, const char *path) {
  static char list[XATTR_LIST_MAX], value[XATTR_SIZE_MAX];
  static const char *names[XATTR_LIST_MAX / 6];
  ssize_t length = flistxattr(fd, list, sizeof list);
  if (length < 0 && errno != ENOTSUP) fail(errno, "read the attributes of", path);
  size_t count = 0;
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(list + at) + 1)
    if (counts(list + at)) names[count++] = list + at;
  qsort(names, count, sizeof *names, by_name);
  add_number(sum, count);
  for (size_t i = 0; i < count; i++) {
    ssize_t size = fgetxattr(fd, names[i], value, sizeof value);
    if (size < 0) fail(errno, "read the attributes of", path);
    add_text(sum, names[i]);
    add_number(sum, (uint64_t)size);
    blake3_add(&sum->hash, value, (size_t)size);
  }
}

static void add_status(struct sum *sum, const struct stat *status) {
  add_number(sum, status->st_mode);
  add_number(sum, status->st_uid);
  add_number(sum, status->st_gid);
}

static void add_content(struct sum *sum, int fd, const struct stat *status, const char *path) {
  static char bytes[COPY_BUFFER];
  uint64_t size = (uint64_t)status->st_size, got = 0;
  add_number(sum, size);
  if (size > sum->left) {
    sum->large = true;
    return;
  }
  sum->left -= size;
  for (;;) {
    ssize_t part = read(fd, bytes, sizeof bytes);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) fail(errno, "read", path);
    if (part == 0) break;
    got += (uint64_t)part;
    blake3_add(&sum->hash, bytes, (size_t)part);
    if ((size_t)part < sizeof bytes) break; /* the end: a file on a disk gives all it has */
  }
  if (got != size) fail(EBUSY, "read", path);
}

static void add_link(struct sum *sum, int parent, const char *name) {
  char target[PATH_MAX + 1];
  ssize_t length = readlinkat(parent, name, target, sizeof target);
  if (length < 0) fail(errno, "read the link", name);
  add_number(sum, (uint64_t)length);
  blake3_add(&sum->hash, target, (size_t)length);
}

static void add_directory(struct sum *sum, int fd, const char *name);

static void add_entry(struct sum *sum, int parent, const char *name) {
  struct stat status;
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) fail(errno, "stat", name);
  add_text(sum, name);
  if (S_ISDIR(status.st_mode)) {
    int fd = open_directory(parent, name);
    if (fd < 0) fail(errno, "open", name);
    add_directory(sum, fd, name);
    close(fd);
    return;
  }
  if (S_ISREG(status.st_mode)) {
    int fd = open_seen_regular(parent, name, &status);
    if (fd < 0) fail(errno, "open", name);
    add_status(sum, &status);
    add_attributes(sum, fd, name);
    add_content(sum, fd, &status, name);
    close(fd);
    return;
  }
  add_status(sum, &status);
  if (S_ISLNK(status.st_mode))
    add_link(sum, parent, name);
  else
    add_number(sum, status.st_rdev);
}

/* Itself, how many entries it has, and each of them. */
static void add_directory(struct sum *sum, int fd, const char *name) {
  struct stat status;
  struct listing listing;
  if (fstat(fd, &status) != 0) fail(errno, "stat", name);
  add_status(sum, &status);
  add_attributes(sum, fd, name);
  int error = list_directory(fd, &listing);
  if (error != 0) fail(error, "list", name);
  add_number(sum, listing.count);
  for (size_t i = 0; i < listing.count && !sum->large; i++) add_entry(sum, fd, listing.names[i].text);
  free_listing(&listing);
}

int digest_verb(const struct options *options) {
  for (size_t i = 0; i < options->layers.count; i++) {
    struct sum sum = {.left = options->most == 0 ? UINT64_MAX : options->most};
    char text[65];
    int root = open_named_root(options->layers.items[i]);
    blake3_begin(&sum.hash);
    add_directory(&sum, root, options->layers.items[i]);
    close(root);
    blake3_end(&sum.hash, text);
    put_field(sum.large ? "" : text);
  }
  return 0;
}
