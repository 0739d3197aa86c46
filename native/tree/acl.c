/*
 * Lists of rights (POSIX ACLs). With one, the group bits of a mode are the most that any of its entries may have, not
 * the group's own: a file that replaces another with the mode alone would give the group what it never had.
 */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACCESS "system.posix_acl_access"

bool keep_access_list(const struct place *place, int to) {
  struct stat status;
  int from = open_regular(place->parent, place->name, &status);
  if (from < 0) return true;
  ssize_t length = fgetxattr(from, ACCESS, NULL, 0);
  bool kept = length <= 0;
  if (!kept) {
    char *list = allocate((size_t)length);
    kept =
        fgetxattr(from, ACCESS, list, (size_t)length) == length && fsetxattr(to, ACCESS, list, (size_t)length, 0) == 0;
    free(list);
  }
  close(from);
  return kept;
}
