/*
 * Extended attributes that are the user's own: copied, compared, shown, and known again by a mark. A change of them is a
 * change of the entry, as one of its mode is.
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

/* Never what overlay or we read as our own: a planted opaque mark would hide files. */
static bool is_users(const char *name) {
  return strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0 &&
         strncmp(name, "user.ctxfs.", 11) != 0;
}

/* Ours count: by one of them an undo brings a list of rights back. */
static bool is_own_attribute(const char *name) {
  if (strcmp(name, "system.posix_acl_access") == 0) return true;
  return strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0;
}

/* What has them: an entry of a directory, without opening it; or what is open, where it has no path. */
struct bearer {
  int fd;
  bool named;
  char path[64 + NAME_MAX];
};

static struct bearer bearer_of(int directory, const char *name) {
  struct bearer bearer = {.fd = directory, .named = name != NULL};
  if (name != NULL &&
      snprintf(bearer.path, sizeof bearer.path, "/proc/self/fd/%d/%s", directory, name) >= (int)sizeof bearer.path)
    fail_here(ENAMETOOLONG, "read the attributes of");
  return bearer;
}

static ssize_t list_names(const struct bearer *bearer, char *list, size_t room) {
  return bearer->named ? llistxattr(bearer->path, list, room) : flistxattr(bearer->fd, list, room);
}

static ssize_t get_value(const struct bearer *bearer, const char *name, void *value, size_t room) {
  return bearer->named ? lgetxattr(bearer->path, name, value, room) : fgetxattr(bearer->fd, name, value, room);
}

bool may_have_attributes(int directory, const char *name) {
  struct bearer bearer = bearer_of(directory, name);
  char names[1024];
  ssize_t length = list_names(&bearer, names, sizeof names);
  if (length < 0) return errno != ENOTSUP;
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(names + at) + 1)
    if (is_own_attribute(names + at)) return true;
  return false;
}

struct attributes {
  struct bearer bearer;
  char *list;
  const char **names; /* the user's, sorted */
  size_t count;
  int error; /* why they are not known; then there are none */
};

static int by_name(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What has no attributes at all is the usual case, and costs one call. */
static struct attributes read_attributes(int directory, const char *name) {
  struct attributes found = {.bearer = bearer_of(directory, name)};
  char fixed[1024], *list = fixed;
  ssize_t length = list_names(&found.bearer, fixed, sizeof fixed);
  if (length < 0 && errno == ERANGE) {
    list = found.list = allocate(XATTR_LIST_MAX);
    length = list_names(&found.bearer, list, XATTR_LIST_MAX);
  }
  if (length < 0 && errno != ENOTSUP) found.error = errno;
  size_t room = 0;
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(list + at) + 1) room += is_users(list + at);
  if (room == 0) return found;
  if (list == fixed) {
    found.list = allocate((size_t)length);
    memcpy(found.list, fixed, (size_t)length);
  }
  found.names = allocate(room * sizeof *found.names);
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(found.list + at) + 1)
    if (is_users(found.list + at)) found.names[found.count++] = found.list + at;
  qsort(found.names, found.count, sizeof *found.names, by_name);
  return found;
}

static void free_attributes(struct attributes *attributes) {
  free(attributes->names);
  free(attributes->list);
}

static bool has_name(const struct attributes *attributes, const char *name) {
  if (attributes->count == 0) return false;
  return bsearch(&name, attributes->names, attributes->count, sizeof name, by_name) != NULL;
}

/* What a filesystem does not have or take is left out; what is there and is not got, or has no room, fails the copy. */
static int failure(int error) {
  static const int left_out[] = {ENOTSUP, ENOSYS, EINVAL, EACCES, EPERM, ENODATA, E2BIG, ERANGE};
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
    if (error == left_out[i]) return 0;
  return error;
}

static int copy_attribute(int from, int to, const char *name) {
  char *value = allocate(XATTR_SIZE_MAX);
  ssize_t size = fgetxattr(from, name, value, XATTR_SIZE_MAX);
  int result = size < 0 || fsetxattr(to, name, value, (size_t)size, 0) != 0 ? failure(errno) : 0;
  free(value);
  return result;
}

int copy_user_attributes(int from, int to) {
  struct attributes attributes = read_attributes(from, NULL);
  int result = failure(attributes.error);
  for (size_t i = 0; i < attributes.count && result == 0; i++) result = copy_attribute(from, to, attributes.names[i]);
  free_attributes(&attributes);
  return result;
}

int change_user_attributes(int before, int from, int to) {
  struct attributes had = read_attributes(before, NULL), has = read_attributes(from, NULL);
  int result = failure(had.error != 0 ? had.error : has.error);
  bool known = had.error == 0 && has.error == 0;
  for (size_t i = 0; i < had.count && known && result == 0; i++)
    if (!has_name(&has, had.names[i]) && fremovexattr(to, had.names[i]) != 0) result = failure(errno);
  free_attributes(&had);
  free_attributes(&has);
  return result != 0 ? result : copy_user_attributes(from, to);
}

static bool same_value(const struct attributes *left, const struct attributes *right, const char *name) {
  char *values = allocate(2 * XATTR_SIZE_MAX), *other = values + XATTR_SIZE_MAX;
  ssize_t size = get_value(&left->bearer, name, values, XATTR_SIZE_MAX);
  bool same = size >= 0 && get_value(&right->bearer, name, other, XATTR_SIZE_MAX) == size &&
              memcmp(values, other, (size_t)size) == 0;
  free(values);
  return same;
}

static bool same_sets(const struct attributes *left, const struct attributes *right) {
  if (left->count != right->count) return false;
  for (size_t i = 0; i < left->count; i++)
    if (strcmp(left->names[i], right->names[i]) != 0 || !same_value(left, right, left->names[i])) return false;
  return true;
}

/* A filesystem without them, or mounted so. */
static bool keeps_none(const struct bearer *bearer) {
  return get_value(bearer, "user.ctxfs", NULL, 0) < 0 && errno == ENOTSUP;
}

bool same_attributes(int left_directory, const char *left_name, int right_directory, const char *right_name) {
  struct attributes left = read_attributes(left_directory, left_name);
  struct attributes right = read_attributes(right_directory, right_name);
  bool same = left.error == 0 && right.error == 0 && same_sets(&left, &right);
  if (!same) same = keeps_none(&left.bearer) || keeps_none(&right.bearer);
  free_attributes(&left);
  free_attributes(&right);
  return same;
}

/* As much of a value as a line may show. */
enum { SHOWN_VALUE = 64 };

static void add_escaped(struct buffer *text, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    char escaped[4];
    bool plain = byte > 0x20 && byte < 0x7f && byte != '%' && byte != '=';
    if (!plain) snprintf(escaped, sizeof escaped, "%%%02x", byte);
    append(text, plain ? &bytes[i] : escaped, plain ? 1 : 3);
  }
}

static void add_value(struct buffer *text, const char *value, size_t size) {
  add_escaped(text, value, size < SHOWN_VALUE ? size : SHOWN_VALUE);
  if (size <= SHOWN_VALUE) return;
  struct blake3 hash;
  char digest[65], rest[128];
  blake3_begin(&hash);
  blake3_add(&hash, value, size);
  blake3_end(&hash, digest);
  int length = snprintf(rest, sizeof rest, "... (%zu bytes, BLAKE3 %s)", size, digest);
  append(text, rest, (size_t)length);
}

/* Gone by now: of a layer that is being written. */
static bool is_gone(int error) {
  return error == ENODATA || error == ENOENT || error == ENOTDIR || error == ELOOP;
}

void show_attributes(int directory, const char *name, struct buffer *text) {
  struct attributes attributes = read_attributes(directory, name);
  if (attributes.error != 0 && !is_gone(attributes.error)) fail_here(attributes.error, "read the attributes of");
  char *value = attributes.count > 0 ? allocate(XATTR_SIZE_MAX) : NULL;
  for (size_t i = 0; i < attributes.count; i++) {
    ssize_t size = get_value(&attributes.bearer, attributes.names[i], value, XATTR_SIZE_MAX);
    if (size < 0 && !is_gone(errno)) fail_here(errno, "read the attributes of");
    if (size < 0) continue;
    if (text->length > 0) append(text, "\n", 1);
    add_escaped(text, attributes.names[i], strlen(attributes.names[i]));
    append(text, "=", 1);
    add_value(text, value, (size_t)size);
  }
  append(text, "", 1);
  free(value);
  free_attributes(&attributes);
}

/* Of one whose attributes cannot be read it is of no use, and always the same. */
uint64_t mark_attributes(int fd) {
  struct buffer text = {0};
  struct attributes attributes = read_attributes(fd, NULL);
  char *value = attributes.count > 0 ? allocate(XATTR_SIZE_MAX) : NULL;
  uint64_t mark = 0;
  for (size_t i = 0; i < attributes.count; i++) {
    ssize_t size = get_value(&attributes.bearer, attributes.names[i], value, XATTR_SIZE_MAX);
    uint64_t length = size < 0 ? UINT64_MAX : (uint64_t)size;
    append(&text, attributes.names[i], strlen(attributes.names[i]) + 1);
    append(&text, &length, sizeof length);
    if (size > 0) append(&text, value, (size_t)size);
  }
  if (text.length > 0) {
    struct blake3 hash;
    char digest[65];
    blake3_begin(&hash);
    blake3_add(&hash, text.data, text.length);
    blake3_end(&hash, digest);
    digest[16] = '\0';
    mark = strtoull(digest, NULL, 16);
  }
  free(value);
  free(text.data);
  free_attributes(&attributes);
  return mark;
}
