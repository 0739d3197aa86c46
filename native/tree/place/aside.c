/* A save of the person's that nothing may destroy, and that has no place any more: beside it, as NAME.ctx-saved. */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tell_aside(const struct place *place, const char *name) {
  struct buffer path = {0};
  append(&path, place->path, strlen(place->path) - strlen(place->name));
  append(&path, name, strlen(name));
  put_raw(path.data, path.length);
  put_field("aside");
}

void set_aside(const struct place *place, const char *old) {
  char name[NAME_MAX + 1];
  for (int number = 0; number < 10000; number++) {
    char ending[32];
    snprintf(ending, sizeof ending, number == 0 ? ".ctx-saved" : ".ctx-saved-%d", number);
    snprintf(name, sizeof name, "%.*s%s", (int)(NAME_MAX - strlen(ending)), place->name, ending);
    if (rename_with(place, old, name, RENAME_NOREPLACE) == 0) return tell_aside(place, name);
    if (errno != EEXIST) fail(errno, "set aside", place->path);
  }
  fail(EEXIST, "set aside", place->path);
}

void save_beside(const struct place *place, int from) {
  static atomic_ullong copied;
  char old[64];
  struct stat status;
  name_beside(place, "old", old);
  write_as_owner(place);
  int to = openat(place->parent, old, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  write_as_self(place);
  if (to < 0 || fstat(from, &status) != 0) fail(errno, "set aside", place->path);
  int error = lseek(from, 0, SEEK_SET) < 0 ? errno : copy_content(from, to, &status, &copied);
  if (error == 0 && fchmod(to, status.st_mode & 0777) != 0) error = errno;
  if (close(to) != 0 && error == 0) error = errno;
  if (error != 0) fail(error, "set aside", place->path);
  set_aside(place, old);
}
