/*
 * apply: a plan, record by record, from a fork's layers onto the person's directory. What is put there is made beside
 * its place and takes it in one step, so that each file is the old one or the new one whenever this stops.
 * With --layer (what was looked at, and is kept) a place that holds anything else by now is a clash: it is left alone,
 * and said. With --durable the bytes of a file are on their way to the disk before its name is, and everything is there
 * at the end. An agent's file never gains power by it: no setuid, setgid or sticky files, no devices, no attributes but
 * user.*. With --whole the directory holds nothing but what is put there: hard links and the times of directories come
 * along. With --forward everything is as new as it is in the directory: it gets later times, in the order of those it
 * has (times.c), at the end, so that whatever is built from it meanwhile counts as older. A crash before that leaves
 * the times of writing. `keep` puts an entry with the time it has, `touch` only gives one its time, `weigh` only counts
 * it in the order. `age` keeps it too, where that is earlier than --before; else all of them get times just before it,
 * in their order. Names of one file are put as such; `know` says that the directory has one of them already.
 * A directory of which nothing was there comes as a whole (beside.c).
 */
#include "apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory itself: only its mode is the fork's to give, and its setgid is never a difference (same_top). */
static void put_top(struct apply *apply) {
  struct stat status, there;
  if (fstat(apply->uppers.root.fds[0], &status) != 0 || fstat(apply->root.root, &there) != 0 ||
      fchmod(apply->root.root, (status.st_mode & 01777) | (there.st_mode & S_ISGID)) != 0)
    fail(errno, "set metadata", ".");
  if (apply->options->whole) date_later(apply, ".", status.st_mtim, false);
}

/* False: the directory that holds the path is not there any more, which only the person can have done. */
static bool find_place(struct apply *apply, const char *path, struct place *place) {
  static const struct found nothing = {.state = FOUND_NOTHING};
  bool inside = apply->beside.building;
  *place = (struct place){.path = path};
  place->parent = inside ? anchor_parent(&apply->beside.inside, path + apply->beside.prefix, &place->name)
                         : anchor_parent(&apply->root, path, &place->name);
  int error = errno;
  place->persons = apply->options->to_fd < 0 && is_known_root(apply->options->to);
  place->undoes = apply->options->undoes;
  place->live = apply->options->to_fd >= 0;
  if (place->parent >= 0 && !apply->knows_above && fstat(place->parent, &apply->above) != 0) fail(errno, "stat", path);
  if (place->parent >= 0 && place->persons) lend_ids(place, &apply->above);
  if (inside) {
    place->expected = &nothing;
  } else if (apply->expected.root.count > 0) {
    resolve(&apply->expected, path, &apply->looked_at);
    place->expected = &apply->looked_at;
  }
  errno = error; /* of the parent, for whoever asks why */
  return place->parent >= 0;
}

static bool is_lost_parent(const struct place *place) {
  return place->expected != NULL && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

static enum replaced put(struct apply *apply, const char *path, bool dated) {
  struct place place;
  struct found found;
  resolve(&apply->uppers, path, &found);
  if (found.state != FOUND_ENTRY) fail(ENOENT, "read", path);
  apply->status = found.status;
  if (!find_place(apply, path, &place)) {
    if (is_lost_parent(&place)) return CLASHED;
    fail(errno, "open parent", path);
  }
  if (place.expected != NULL && !apply->beside.building && !S_ISREG(found.status.st_mode)) sweep(&place, &found);
  if (!S_ISDIR(found.status.st_mode) && is_changed_live(&place)) return CLASHED;
  place.dated = dated;
  set_owner(&place, &found.status, apply);
  enum replaced replaced;
  switch (found.status.st_mode & S_IFMT) {
  case S_IFREG:
    return put_file_or_link(apply, &place, &found);
  case S_IFLNK:
  case S_IFIFO:
    return put_special(&place, &found);
  case S_IFSOCK: /* in the store alone */
    if (!apply->options->sockets) fail(EPERM, "put a device or socket", path);
    return put_special(&place, &found);
  case S_IFDIR:
    /* What gets its name meanwhile is not of the unit. */
    if (has_linked_waiting()) return BLOCKED;
    if (begin_unit(apply, &place, &found)) return LATER;
    replaced = put_directory(&place, &found);
    if (apply->options->whole && !apply->options->forward) date_later(apply, path, found.status.st_mtim, false);
    return replaced;
  default:
    fail(EPERM, "put a device or socket", path);
  }
}

/* What is gone already is done: a plan can be run again after an interruption. */
static enum replaced remove_entry(struct apply *apply, const char *path) {
  struct place place;
  if (!find_place(apply, path, &place)) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return REPLACED;
    fail(errno, "open parent", path);
  }
  bool at_top = place.parent == apply->root.root;
  enum replaced replaced = take_away(&place);
  if (at_top) anchor_forget(&apply->root); /* what was removed may be the parent remembered */
  return replaced;
}

/* After a run that was killed: what it left beside a place that has nothing more to be done to it. */
static void sweep_entry(struct apply *apply, const char *path) {
  struct place place;
  struct found found;
  resolve(&apply->uppers, path, &found);
  if (find_place(apply, path, &place) && place.expected != NULL) sweep(&place, &found);
}

/* What was put or taken away; entries whose times alone matter are not. */
static void tell(const char *action, const char *path, enum replaced replaced) {
  static const char *const silent[] = {"know", "touch", "weigh", "sweep"};
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
    if (strcmp(action, silent[i]) == 0) return;
  put_field(path);
  put_field(replaced == REPLACED ? "done" : "clash");
  flush_output_if_late();
}

static void named(void *context, const struct waiting *file, enum replaced replaced) {
  struct apply *apply = context;
  const char *path = file->place.path;
  bool put = replaced == REPLACED;
  if (file->link != NULL) settle_link(file->link, put ? copy_text(path) : NULL, put ? &file->made : &file->status);
  if (apply->options->forward && put) date_action(apply, file->action, path, &file->status);
  tell(file->action, path, replaced);
}

static void name_all(struct apply *apply) {
  name_batch(apply->options->durable, named, apply);
}

static bool is_beside(const char *path, const char *other) {
  const char *slash = strrchr(path, '/'), *other_slash = strrchr(other, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  return length == (other_slash == NULL ? 0 : (size_t)(other_slash - other)) && memcmp(path, other, length) == 0;
}

static void tell_placed(const struct apply *apply, struct span span) {
  struct records records = *apply->records;
  records.position = span.begin;
  while (records.position < span.end) {
    const char *action = next_record(&records), *path = next_record(&records);
    tell(action, path, REPLACED);
  }
  flush_output();
}

static void put_records(struct apply *apply, struct span span, bool plain);

/* What could not come as a whole. */
static void put_entries(struct apply *apply, struct span span) {
  size_t position = apply->records->position;
  put_records(apply, span, true);
  apply->records->position = position;
}

static void place_units(struct apply *apply) {
  struct span *left;
  size_t count = name_units(apply, tell_placed, &left);
  for (size_t i = 0; i < count; i++) put_entries(apply, left[i]);
  free(left);
}

/* A path that is not one of the unit's. A plan may name one twice, and come back to a directory later. */
static void leave_unit(struct apply *apply, const char *path) {
  end_unit(apply);
  if (are_units_full(apply) || is_of_unit(apply, path)) place_units(apply);
}

static enum replaced do_action(struct apply *apply, const char *action, const char *path) {
  if (strcmp(action, "put") == 0 && is_top_path(path)) return put_top(apply), REPLACED;
  if (strcmp(action, "put") == 0) return put(apply, path, !apply->options->forward);
  if (strcmp(action, "keep") == 0 || strcmp(action, "age") == 0) return put(apply, path, true);
  if (strcmp(action, "remove") == 0) return remove_entry(apply, path);
  if (strcmp(action, "sweep") == 0)
    sweep_entry(apply, path);
  else if (strcmp(action, "know") == 0)
    know_link(apply, path);
  else if (strcmp(action, "touch") != 0 && strcmp(action, "weigh") != 0)
    fail(EINVAL, "apply", path);
  return REPLACED;
}

/* An entry of a directory that takes its place later, as a whole. */
static void put_into_unit(struct apply *apply, const char *action, const char *path, bool beside) {
  apply->knows_above = beside && apply->knows_above;
  enum replaced replaced = do_action(apply, action, path);
  if (replaced == CLASHED) {
    struct span records = give_up_unit(apply);
    put_entries(apply, records);
    apply->records->position = records.end;
    return;
  }
  apply->knows_above = true;
  if (apply->options->forward) date_action(apply, action, path, &apply->status);
}

/* One that has its own place. */
static void do_record(struct apply *apply, const char *action, const char *path, bool beside) {
  /* What waits is named by directories that are open: before one goes, or is left with files that need more of it. */
  bool keeps = strcmp(action, "remove") != 0 && (beside || leave_batch_directory());
  if (!keeps || is_batch_full()) name_all(apply);
  if (!beside) apply->knows_above = false;
  let_wanted_go();
  enum replaced replaced = do_action(apply, action, path);
  if (replaced == BLOCKED) {
    name_all(apply);
    replaced = do_action(apply, action, path);
  }
  apply->knows_above = replaced == LATER || strcmp(action, "remove") == 0;
  bool began = apply->beside.building;
  if (replaced == LATER && !began) return;
  if (apply->options->forward && !is_top_path(path) && replaced != CLASHED) date_action(apply, action, path, NULL);
  if (!began) tell(action, path, replaced);
}

static void put_records(struct apply *apply, struct span span, bool plain) {
  struct records *records = apply->records;
  const char *last = "";
  bool was_plain = apply->plain;
  apply->plain = plain || was_plain;
  records->position = span.begin;
  while (records->position < span.end) {
    apply->at = records->position;
    const char *action = next_record(records), *path = next_record(records);
    bool top = path != NULL && is_top_path(path) && strcmp(action, "put") == 0;
    if (path == NULL || (!top && !is_plain_path(path))) fail(EINVAL, "apply", path == NULL ? "" : path);
    stop_where_wanted(apply);
    bool inside = is_inside_unit(apply, path);
    if (!inside) leave_unit(apply, path);
    apply->action = action;
    working_on(path);
    bool beside = is_beside(path, last);
    last = path;
    if (inside)
      put_into_unit(apply, action, path, beside);
    else
      do_record(apply, action, path, beside);
  }
  end_unit(apply);
  name_all(apply);
  apply->knows_above = false;
  if (plain) apply->plain = was_plain;
}

int apply_verb(const struct options *options) {
  struct records records = read_records();
  struct apply apply = {.options = options, .records = &records};
  apply.root.root = options->to_fd >= 0 ? options->to_fd : open_named_root(options->to);
  apply.uppers.root = open_layers(&options->uppers);
  if (options->layers.count > 0) apply.expected.root = open_layers(&options->layers);
  records = expand_records(records, true, &apply.uppers.root, &apply.expected.root);
  put_records(&apply, (struct span){0, records.length}, false);
  place_units(&apply);
  set_dates(&apply);
  if (options->durable && syncfs(apply.root.root) != 0) fail(errno, "sync", options->to);
  let_retired_go();
  if (options->forward) {
    put_field("");
    put_number((uint64_t)apply.order.after, false);
  }
  return 0;
}
