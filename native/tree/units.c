/* Directories that are made beside their places (beside.c): which one is being made, which wait, and what is in them. */
#include "apply.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_below(const char *path, const char *start, size_t length) {
  return strncmp(path, start, length) == 0 && path[length] == '/';
}

struct unit *last_unit(const struct apply *apply) {
  return &apply->beside.units[apply->beside.count - 1];
}

bool is_inside_unit(const struct apply *apply, const char *path) {
  return apply->beside.building && is_below(path, last_unit(apply)->place.path, apply->beside.prefix - 1);
}

bool is_of_unit(const struct apply *apply, const char *path) {
  for (size_t i = 0; i < apply->beside.count; i++) {
    const char *unit = apply->beside.units[i].place.path;
    size_t length = strlen(unit);
    if (strncmp(path, unit, length) == 0 && (path[length] == '/' || path[length] == '\0')) return true;
  }
  return false;
}

const char *anchor_of_put(struct apply *apply, const char *path, struct anchor *anchor) {
  struct beside *beside = &apply->beside;
  bool inside = is_inside_unit(apply, path);
  *anchor = (struct anchor){.root = inside ? beside->inside.root : apply->root.root};
  if (inside) return path + beside->prefix;
  for (size_t i = 0; i < beside->count; i++) {
    const struct unit *unit = &beside->units[i];
    size_t length = strlen(unit->place.path);
    if (!is_below(path, unit->place.path, length)) continue;
    /* It waits: reached by its other name, from the place's own parent. */
    static char *other;
    struct buffer text = {0};
    append(&text, unit->temporary, strlen(unit->temporary));
    append(&text, path + length, strlen(path + length) + 1);
    free(other);
    other = text.data;
    anchor->root = unit->place.parent;
    return other;
  }
  return path;
}

void end_unit(struct apply *apply) {
  struct beside *beside = &apply->beside;
  if (!beside->building) return;
  beside->building = false;
  anchor_forget(&beside->inside);
  close(beside->inside.root);
  last_unit(apply)->dated_to = apply->dated_count;
  apply->knows_above = false;
}
