/*
 * Directories that are new as a whole. Each is made beside its place, as .ctx-HASH.new, with all that comes into it:
 * files get their names at once, since no one knows the directory, and wait for the disk together. Then it takes its
 * place in one step. Whenever this stops, the directory is there with all of it, or not at all.
 *
 * Where the person has made something in its place meanwhile, what was made is removed, and its entries are put one by
 * one: each is theirs, or ours. Being told to stop, and a failure, remove what has no place yet. What a kill leaves is
 * removed by `sweep`.
 */
#include "apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A smaller one costs more than its files do one by one. */
enum { LEAST_ENTRIES = 8 };
/*
 * More in one directory are put into it as they come, and no more wait together: what is under way when this stops is
 * done again.
 */
enum { MOST_ENTRIES = 8192 };
/* Removing it again takes a descriptor a level. */
enum { MOST_LEVELS = 64 };

/* Each has a descriptor. */
enum { MOST_UNITS = 512 };

/* For failures, which know nothing of what goes on. */
static struct apply *at_work;

static void forget_unit(struct unit *unit) {
  close(unit->place.parent);
  free((char *)unit->place.path);
  unit->place.path = NULL;
  unit->place.parent = -1;
}

static void remove_units(void) {
  struct beside *beside = &at_work->beside;
  for (size_t i = 0; i < beside->count; i++) {
    const struct unit *unit = &beside->units[i];
    (void)remove_tree(unit->place.parent, unit->temporary);
  }
}

static bool is_deep(const char *path) {
  size_t levels = 0;
  for (; *path != '\0'; path++) levels += *path == '/';
  return levels > MOST_LEVELS;
}

/* The records that come into the directory, which follow its own; 0: not as one. */
static size_t records_below(struct records *records, const char *path, size_t *end) {
  size_t length = strlen(path), count = 0, position = records->position;
  *end = position;
  for (char *action; (action = next_record(records)) != NULL;) {
    char *each = next_record(records);
    if (each == NULL || !is_below(each, path, length)) break;
    bool puts = strcmp(action, "put") == 0 || strcmp(action, "keep") == 0 || strcmp(action, "age") == 0;
    if (!puts || ++count > MOST_ENTRIES || !is_plain_path(each) || is_deep(each + length + 1)) {
      count = 0;
      break;
    }
    *end = records->position;
  }
  records->position = position;
  return count < LEAST_ENTRIES ? 0 : count;
}

/* A descriptor that the unit keeps, or -1. */
static int make_unit(struct place *place, const struct found *found, const char *temporary) {
  struct stat status;
  if (fstatat(place->parent, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return -1;
  if (fstatat(place->parent, temporary, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(status.st_mode))
      (void)remove_tree(place->parent, temporary);
    else
      (void)!unlinkat(place->parent, temporary, 0);
    if (fstatat(place->parent, temporary, &status, AT_SYMLINK_NOFOLLOW) == 0) return -1;
  }
  int parent = fcntl(place->parent, F_DUPFD_CLOEXEC, 0);
  if (parent < 0) return -1;
  place->made_as = temporary;
  place->parent = parent;
  return put_directory(place, found) == REPLACED ? parent : (close(parent), -1);
}

bool begin_unit(struct apply *apply, const struct place *place, const struct found *found) {
  struct beside *beside = &apply->beside;
  const struct options *options = apply->options;
  bool fresh = place->expected != NULL && place->expected->state == FOUND_NOTHING;
  size_t end;
  if (apply->plain || beside->building || !options->durable || !fresh || place->lends) return false;
  size_t entries = records_below(apply->records, place->path, &end);
  if (entries == 0) return false;
  if (beside->count == beside->room) {
    beside->room = beside->room * 2 + 16;
    beside->units = reallocate(beside->units, beside->room * sizeof *beside->units);
  }
  at_work = apply;
  clean_up_when_failing(remove_units);
  hold_stops();
  struct unit *unit = &beside->units[beside->count];
  *unit = (struct unit){.place = *place, .records = {apply->at, end}, .dated_from = apply->dated_count};
  name_beside(place, "new", unit->temporary);
  int parent = make_unit(&unit->place, found, unit->temporary);
  int fd = parent < 0 ? -1 : open_directory(parent, unit->temporary);
  if (fd < 0) {
    if (parent >= 0) (void)remove_tree(parent, unit->temporary), close(parent);
    allow_stops();
    return false;
  }
  unit->place.made_as = NULL;
  unit->place.path = copy_text(place->path);
  unit->place.name = unit->place.path + strlen(place->path) - strlen(place->name);
  beside->count += 1;
  beside->entries += entries;
  beside->building = true;
  beside->prefix = strlen(place->path) + 1;
  beside->inside = (struct anchor){.root = fd};
  return true;
}

bool are_units_full(const struct apply *apply) {
  const size_t count = apply->beside.count;
  return apply->beside.entries >= MOST_ENTRIES || count >= MOST_UNITS || count >= quarter_of_descriptors();
}

static void take_back(struct apply *apply, struct unit *unit) {
  (void)remove_tree(unit->place.parent, unit->temporary);
  for (size_t i = unit->dated_from; i < unit->dated_to; i++) apply->dated[i].dropped = true;
  free(apply->parent); /* its time may be among those */
  apply->parent = NULL;
  forget_unit(unit);
}

struct span give_up_unit(struct apply *apply) {
  end_unit(apply);
  struct unit unit = *last_unit(apply);
  take_back(apply, &unit);
  apply->beside.count -= 1;
  allow_stops();
  return unit.records;
}

static bool take_place(struct apply *apply, struct unit *unit) {
  working_on(unit->place.path);
  if (rename_with(&unit->place, unit->temporary, unit->place.name, RENAME_NOREPLACE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS) apply->plain = true; /* not on this filesystem */
  return false;
}

size_t name_units(struct apply *apply, void (*placed)(const struct apply *apply, struct span records),
                  struct span **left) {
  struct beside *beside = &apply->beside;
  size_t count = 0, others = 0;
  end_unit(apply);
  *left = NULL;
  if (beside->count == 0) return 0;
  if (syncfs(apply->root.root) != 0) fail(errno, "sync", apply->options->to);
  for (size_t i = 0; i < beside->count; i++) {
    struct unit *unit = &beside->units[i];
    if (!take_place(apply, unit)) {
      beside->units[others++] = *unit;
      continue;
    }
    /* Told at once: after a failure of the next one, this one has happened. */
    placed(apply, unit->records);
    forget_unit(unit);
    allow_stops();
  }
  struct unit *units = beside->units;
  *left = allocate(others * sizeof **left);
  for (; count < others; count++) {
    take_back(apply, &units[count]);
    (*left)[count] = units[count].records;
    allow_stops();
  }
  *beside = (struct beside){0};
  free(units);
  return count;
}

void stop_where_wanted(struct apply *apply) {
  if (apply->beside.count == 0 || !is_stop_wanted()) return;
  remove_units();
  for (size_t held = apply->beside.count; held > 0; held--) allow_stops();
}
