/* Names beside a place, given and taken with the rights of whoever may write there. */
#include "place/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The same name for the same place, every time: what a run that was killed left in the person's directory is found
 * again by the next one.
 */
void name_beside(const struct place *place, const char *ending, char text[64]) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (const char *at = place->name; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  snprintf(text, 64, ".ctx-%016llx.%s", (unsigned long long)hash, ending);
}

/* glibc 2.31 has renameat2, musl had none for long. */
int rename_with(const struct place *place, const char *from, const char *to, unsigned flags) {
  write_as_owner(place);
  int result = (int)syscall(SYS_renameat2, place->parent, from, place->parent, to, flags);
  write_as_self(place);
  return result;
}

int rename_plainly(const struct place *place, const char *from, const char *to) {
  write_as_owner(place);
  int result = renameat(place->parent, from, place->parent, to);
  write_as_self(place);
  return result;
}

int unlink_in(const struct place *place, const char *name, int flags) {
  write_as_owner(place);
  int result = unlinkat(place->parent, name, flags);
  write_as_self(place);
  return result;
}

/* A name for a file that has none. /proc: without it only root may link by descriptor. */
int link_unnamed(const struct place *place, int fd, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  write_as_owner(place);
  int result = linkat(AT_FDCWD, path, place->parent, name, AT_SYMLINK_FOLLOW);
  write_as_self(place);
  return result;
}
