/*
 * Root writes into a directory of another user with that user's ids: whatever they put in the way of a name, the kernel
 * allows no more than it would allow them. Only the calls that make, rename and remove names are made so; what is read,
 * and what is set on an inode that this program made itself, goes by descriptor and keeps root's rights.
 */
#include "place/place.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <unistd.h>

/* A directory that its owner has closed to themselves would refuse them: there, root's rights are needed. */
void lend_ids(struct place *place, const struct stat *parent) {
  if (geteuid() != 0) return;
  place->lends = parent->st_uid != 0 && (parent->st_mode & 0300) == 0300;
  place->lent_uid = parent->st_uid;
  place->lent_gid = parent->st_gid;
}

/*
 * Of this thread alone. Refused only where the ids are none of this user namespace: there, root has no rights over them
 * either.
 */
void write_as_owner(const struct place *place) {
  if (!place->lends) return;
  setfsgid(place->lent_gid);
  setfsuid(place->lent_uid);
}

void write_as_self(const struct place *place) {
  if (!place->lends) return;
  int error = errno;
  setfsuid(geteuid());
  setfsgid(getegid());
  errno = error;
}
