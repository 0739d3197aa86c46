/* The times of what apply puts: remembered while it writes, given at the end, in the order that they had (times.c). */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void date_later(struct apply *apply, const char *path, struct timespec time, bool aged) {
  if (apply->dated_count == apply->dated_room) {
    apply->dated_room = apply->dated_room == 0 ? 64 : apply->dated_room * 2;
    apply->dated = reallocate(apply->dated, apply->dated_room * sizeof *apply->dated);
  }
  const struct records *records = apply->records;
  bool lasts = path >= records->data && path < records->data + records->length;
  apply->dated[apply->dated_count++] =
      (struct dated){.path = lasts ? path : copy_text(path), .time = time, .aged = aged};
}

/* Newer than all this was written: somebody else's by now. */
static bool is_newer(int parent, const char *name, int64_t than) {
  struct stat status;
  return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || nanoseconds(status.st_mtim) > than;
}

void set_dates(struct apply *apply) {
  bool forward = apply->options->forward;
  if (forward) close_order(&apply->order, apply->options->after);
  if (apply->aged.count > 0) close_order(&apply->aged, apply->options->before - 1 - (int64_t)apply->aged.count);
  for (size_t i = 0; i < apply->dated_count; i++) {
    const struct dated *each = &apply->dated[i];
    if (each->dropped) continue;
    const struct order *order = each->aged ? &apply->aged : &apply->order;
    struct timespec time = forward ? later_time(order, each->time) : each->time;
    struct timespec times[2] = {time, time};
    const char *name = each->path;
    bool top = is_top_path(each->path);
    int parent = top ? apply->root.root : anchor_parent(&apply->root, each->path, &name);
    bool gone = parent < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
    bool passed = parent < 0 ? gone : is_newer(parent, name, apply->order.after);
    if (forward && apply->options->after == 0 && passed) continue;
    int error = parent < 0 || (top ? futimens(parent, times) : utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW)) != 0
                    ? errno
                    : 0;
    /* Somebody else's directory, into which we may write: it has the time of writing. */
    if (error != 0 && !(forward && error == EPERM)) fail(error, "set metadata", each->path);
  }
}

/* The directory that an entry was put into or taken from changed with it. */
static void date_parent(struct apply *apply, const char *path) {
  const char *slash = strrchr(path, '/');
  char *parent = slash == NULL ? copy_text(".") : strndup(path, (size_t)(slash - path));
  if (parent == NULL) fail(ENOMEM, "remember", path);
  if (apply->parent != NULL && strcmp(apply->parent, parent) == 0) return free(parent);
  free(apply->parent);
  apply->parent = parent;
  struct found found = {.state = FOUND_ENTRY};
  if (slash != NULL)
    resolve(&apply->uppers, parent, &found);
  else if (fstat(apply->uppers.root.fds[0], &found.status) != 0)
    fail(errno, "stat", ".");
  if (found.state != FOUND_ENTRY || !S_ISDIR(found.status.st_mode)) return;
  count_time(&apply->order, found.status.st_mtim);
  date_later(apply, parent, found.status.st_mtim, false);
}

/* Counts an entry of the layers in the order of times; with `dates` it is given its own at the end. */
static void weigh(struct apply *apply, const char *path, const struct stat *put, bool dates) {
  struct found found = {.state = FOUND_ENTRY};
  if (put != NULL)
    found.status = *put;
  else
    resolve(&apply->uppers, path, &found);
  if (found.state != FOUND_ENTRY) return;
  count_time(&apply->order, found.status.st_mtim);
  if (dates) date_later(apply, path, found.status.st_mtim, false);
}

/* Put with the time it has; where --before is not later than that, it is given an earlier one at the end. */
static void age(struct apply *apply, const char *path) {
  struct found found;
  resolve(&apply->uppers, path, &found);
  int64_t before = apply->options->before;
  if (found.state != FOUND_ENTRY || before == 0 || nanoseconds(found.status.st_mtim) < before) return;
  count_time(&apply->aged, found.status.st_mtim);
  date_later(apply, path, found.status.st_mtim, true);
}

void date_action(struct apply *apply, const char *action, const char *path, const struct stat *put) {
  bool puts = strcmp(action, "put") == 0, touches = strcmp(action, "touch") == 0;
  if (strcmp(action, "know") == 0) return;
  if (strcmp(action, "age") == 0) age(apply, path);
  if (strcmp(action, "remove") != 0) weigh(apply, path, put, puts || touches);
  if (!touches && strcmp(action, "weigh") != 0) date_parent(apply, path);
}
