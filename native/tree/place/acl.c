/*
 * Lists of rights (POSIX ACLs). With one, the group bits of a mode are the most that any of its entries may have, not
 * the group's own: a file that replaces another with the mode alone would give the group what it never had.
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACCESS "system.posix_acl_access"
#define MIRRORED "user.ctxfs.access"

static bool copy_list(int from, const char *name, int to, const char *as) {
  char list[XATTR_SIZE_MAX];
  ssize_t length = fgetxattr(from, name, list, sizeof list);
  return length >= 0 && fsetxattr(to, as, list, (size_t)length, 0) == 0;
}

/* Also where that is unknown: a list that is then not copied narrows the mode. */
static bool has_list(int fd, const char *name) {
  ssize_t length = fgetxattr(fd, name, NULL, 0);
  return length > 0 || (length < 0 && errno != ENODATA && errno != ENOTSUP);
}

/* Without opening it; also where that is unknown. */
static bool may_have_list(const struct place *place) {
  char path[64 + NAME_MAX];
  if (snprintf(path, sizeof path, "/proc/self/fd/%d/%s", place->parent, place->name) >= (int)sizeof path) return true;
  return lgetxattr(path, ACCESS, NULL, 0) >= 0 || (errno != ENODATA && errno != ENOTSUP);
}

bool keep_access_list(const struct place *place, int to) {
  struct stat status;
  if (!may_have_list(place)) return true;
  int from = open_regular(place->parent, place->name, &status);
  if (from < 0) return errno == ENOENT || errno == ENXIO || errno == ELOOP;
  bool kept = !has_list(from, ACCESS) || copy_list(from, ACCESS, to, ACCESS);
  close(from);
  return kept;
}

/* Beside the copy, not at it: the ids of the list may be none in the namespace that the store is written in. A copy that
 * cannot have it gives the group nothing. */
void mirror_access_list(int from, int parent, const char *name) {
  ssize_t length = fgetxattr(from, ACCESS, NULL, 0);
  if (length < 0 && errno != ENODATA && errno != ENOTSUP) fail(errno, "read the access list", name);
  if (length <= 0) return;
  int to = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (to >= 0 && !copy_list(from, ACCESS, to, MIRRORED) &&
      (fstat(to, &status) != 0 || fchmod(to, status.st_mode & 0707) != 0))
    fail(errno, "keep the access list", name);
  if (to >= 0) close(to);
}

int restore_access_list(int mirrored, int to) {
  if (!has_list(mirrored, MIRRORED)) return -1;
  return copy_list(mirrored, MIRRORED, to, ACCESS) ? 1 : 0;
}

bool is_narrowed(mode_t written, mode_t there) {
  return S_ISREG(written) && (written & 0707) == (there & 0777);
}
