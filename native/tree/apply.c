/*
 * apply: a plan, record by record, from a fork's layers onto the person's directory. What is put there is made beside
 * its place and takes it in one step, so that each file is the old one or the new one whenever this stops.
 * With --layer (what was looked at, and is kept) a place that holds anything else by now is a clash: it is left alone, and said.
 * With --durable the bytes of a file are on their way to the disk before its name is, and everything is there at the end.
 * An agent's file never gains power by it: no setuid, setgid or sticky files, no devices, no attributes but user.*.
 * With --whole the directory holds nothing but what is put there: hard links and the times of directories come along.
 * With --forward everything is as new as it is in the directory: it gets later times, in the order of those it has (times.c),
 * at the end, so that whatever is built from it meanwhile counts as older. A crash before that leaves the times of writing.
 * `keep` puts an entry with the time it has, `touch` only gives one its time, `weigh` only counts it in the order. `age` keeps it
 * too, where that is earlier than --before; else all of them get times just before it, in their order. Names of one
 * file are put as such; `know` says that the directory has one of them already.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An entry, and the time it gets when everything is written. */
struct dated {
  char *path;
  struct timespec time;
  bool aged; /* before --before, and not after everything */
};

struct apply {
  const struct options *options;
  struct anchor root;
  struct resolver uppers, expected;
  struct found looked_at; /* of the place at hand */
  const char *action;
  struct stat above;      /* of the directory it is in, as long as only files are put there */
  bool knows_above;
  struct dated *dated;
  size_t dated_count, dated_room;
  struct order order, aged;
  char *parent; /* the last directory that was dated for what changed in it */
};

static atomic_ullong bytes;

/* An id below the shift is none that the jail could have given: the directory's owner takes the entry. */
static void set_owner(struct place *place, const struct stat *status, const struct apply *apply) {
  const struct options *options = apply->options;
  const struct stat *parent = &apply->above;
  if (!options->privileged) return;
  bool shifted = status->st_uid >= options->shift && status->st_gid >= options->shift;
  place->uid = shifted ? status->st_uid - options->shift : parent->st_uid;
  place->gid = shifted ? status->st_gid - options->shift : parent->st_gid;
  place->chowns = true;
}

/* What the kernel gives an entry that is made in the place. */
static bool is_made_as_owner(const struct place *place, const struct apply *apply) {
  const struct stat *parent = &apply->above;
  uid_t uid = place->lends ? place->lent_uid : geteuid();
  gid_t gid = (parent->st_mode & S_ISGID) != 0 ? parent->st_gid : place->lends ? place->lent_gid : getegid();
  return place->uid == uid && place->gid == gid;
}

/* What stands under the temporary's name is then not ours to remove. */
_Noreturn static void fail_to_create(const struct place *place) {
  int error = errno;
  guard_temporary(-1, "");
  fail(error, "create", place->path);
}

/* Another user has put something else in the place of what was made just now: it is theirs, and stays. */
_Noreturn static void fail_exchanged(const struct place *place) {
  guard_temporary(-1, "");
  fail(ESTALE, "create", place->path);
}

/* Left by a run that was killed; anything but a directory under such a name is ours. */
static void fresh_temporary(const struct place *place, char text[64]) {
  name_beside(place, "new", text);
  (void)!unlink_in(place, text, 0);
}

/* All of a file but its name. */
static void fill_file(const struct apply *apply, const struct place *place, const struct found *found, int to) {
  struct stat status;
  int from = open_regular(found->directory, place->name, &status);
  if (from < 0) fail(errno, "open", place->path);
  int error = copy_content(from, to, &status, &bytes);
  if (error != 0) fail(error, "copy", place->path);
  error = copy_user_attributes(from, to);
  if (error == ENOSPC || error == EDQUOT) fail(error, "copy", place->path);
  struct timespec times[2] = {status.st_mtim, status.st_mtim};
  /* Before the mode, which then says what of the list counts. Without its list the group gets nothing by a mode that is its mask. */
  bool is_new = place->expected != NULL && place->expected->state != FOUND_ENTRY;
  mode_t mode = status.st_mode & (is_new || keep_access_list(place, to) ? 0777 : 0707);
  bool chowns = place->chowns && !is_made_as_owner(place, apply);
  if ((chowns && fchown(to, place->uid, place->gid) != 0) || fchmod(to, mode) != 0 ||
      (place->dated && futimens(to, times) != 0))
    fail(errno, "set metadata", place->path);
  if (apply->options->durable) start_writing(to);
  close(from);
}

static enum replaced put_file(const struct apply *apply, const struct place *place, const struct found *found) {
  char temporary[64];
  if (place->expected != NULL) sweep(place, found);
  fresh_temporary(place, temporary);
  guard_temporary(place->parent, temporary); /* before it is made: a signal may come right after */
  write_as_owner(place);
  int to = openat(place->parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  write_as_self(place);
  if (to < 0) fail_to_create(place);
  fill_file(apply, place, found, to);
  if (apply->options->durable) finish_writing(to, place->path);
  if (close(to) != 0) fail(errno, "write", place->path);
  return put_in_place(place, temporary);
}

/* False: it has to be made under a name. */
static bool put_later(const struct apply *apply, const struct place *place, const struct found *found) {
  struct waiting file = {.place = *place, .action = apply->action, .status = found->status};
  if (place->expected == NULL || (file.fd = open_unnamed(place)) < 0) return false;
  if (place->expected->state == FOUND_ENTRY) sweep(place, found);
  fill_file(apply, place, found, file.fd);
  add_waiting(&file);
  return true;
}

/* By descriptor, and only what can have been made here: what stands under the name may be another one by now. */
static void own_special(const struct place *place, const char *temporary, mode_t type) {
  struct stat status;
  if (!place->chowns) return;
  int fd = openat(place->parent, temporary, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) fail(errno, "open", place->path);
  if ((status.st_mode & S_IFMT) != type || (place->lends && status.st_uid != place->lent_uid)) fail_exchanged(place);
  if (fchownat(fd, "", place->uid, place->gid, AT_EMPTY_PATH) != 0) fail(errno, "set metadata", place->path);
  close(fd);
}

static enum replaced put_special(const struct place *place, const struct found *found) {
  char temporary[64], text[PATH_MAX + 1];
  fresh_temporary(place, temporary);
  if (S_ISLNK(found->status.st_mode)) {
    ssize_t length = readlinkat(found->directory, place->name, text, PATH_MAX);
    if (length < 0) fail(errno, "readlink", place->path);
    text[length] = '\0';
    guard_temporary(place->parent, temporary);
    write_as_owner(place);
    int made = symlinkat(text, place->parent, temporary);
    write_as_self(place);
    if (made != 0) fail_to_create(place);
  } else {
    guard_temporary(place->parent, temporary);
    mode_t type = found->status.st_mode & S_IFMT;
    write_as_owner(place);
    int made = mknodat(place->parent, temporary, type | (found->status.st_mode & 0777), 0);
    write_as_self(place);
    if (made != 0) fail_to_create(place);
  }
  own_special(place, temporary, found->status.st_mode & S_IFMT);
  struct timespec times[2] = {found->status.st_mtim, found->status.st_mtim};
  if (place->dated && utimensat(place->parent, temporary, times, AT_SYMLINK_NOFOLLOW) != 0)
    fail(errno, "set metadata", place->path);
  return put_in_place(place, temporary);
}

/* A further name, under the temporary's, of a file that was put before. False: it is not there any more, or takes no more. */
static bool link_beside(const struct apply *apply, const struct place *place, const struct link *link, char *temporary) {
  const char *name;
  struct stat status;
  struct anchor anchor = {.root = apply->root.root};
  int parent = anchor_parent(&anchor, link->path, &name);
  fresh_temporary(place, temporary);
  guard_temporary(place->parent, temporary);
  bool linked = parent >= 0 && linkat(parent, name, place->parent, temporary, 0) == 0;
  anchor_forget(&anchor);
  bool same = linked && fstatat(place->parent, temporary, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
              status.st_ino == link->status.st_ino && status.st_dev == link->status.st_dev;
  if (linked && !same) unlink_in(place, temporary, 0);
  if (!same) guard_temporary(-1, "");
  return same;
}

static enum replaced put_file_or_link(const struct apply *apply, const struct place *place, const struct found *found) {
  char temporary[64];
  struct stat status;
  bool links = (apply->options->whole || apply->options->forward) && found->status.st_nlink > 1;
  struct link *link = links ? claim_link(&found->status) : NULL;
  if (link != NULL && link->path != NULL && link_beside(apply, place, link, temporary))
    return put_in_place(place, temporary);
  if (link == NULL && put_later(apply, place, found)) return LATER;
  enum replaced replaced = put_file(apply, place, found);
  if (link != NULL && link->path == NULL) {
    bool put = replaced == REPLACED && fstatat(place->parent, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    settle_link(link, put ? strdup(place->path) : NULL, put ? &status : &found->status);
  }
  return replaced;
}

/* A name that the directory has already, of a file that others will be put as further names of. */
static void know_link(struct apply *apply, const char *path) {
  struct found found;
  struct stat status;
  const char *name;
  resolve(&apply->uppers, path, &found);
  int parent = anchor_parent(&apply->root, path, &name);
  bool there = parent >= 0 && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  if (!there || found.state != FOUND_ENTRY || found.status.st_nlink < 2) return;
  struct link *link = claim_link(&found.status);
  if (link->path == NULL) settle_link(link, strdup(path), &status);
}

static void date_later(struct apply *apply, const char *path, struct timespec time, bool aged) {
  if (apply->dated_count == apply->dated_room) {
    apply->dated_room = apply->dated_room == 0 ? 64 : apply->dated_room * 2;
    apply->dated = reallocarray(apply->dated, apply->dated_room, sizeof *apply->dated);
    if (apply->dated == NULL) fail(ENOMEM, "remember", path);
  }
  apply->dated[apply->dated_count++] = (struct dated){strdup(path), time, aged};
}

/* Newer than all this was written: somebody else's by now. */
static bool is_newer(int parent, const char *name, int64_t than) {
  struct stat status;
  return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || nanoseconds(status.st_mtim) > than;
}

static void set_dates(struct apply *apply) {
  bool forward = apply->options->forward;
  if (forward) close_order(&apply->order, apply->options->after);
  if (apply->aged.count > 0) close_order(&apply->aged, apply->options->before - 1 - (int64_t)apply->aged.count);
  for (size_t i = 0; i < apply->dated_count; i++) {
    const struct dated *each = &apply->dated[i];
    const struct order *order = each->aged ? &apply->aged : &apply->order;
    struct timespec time = forward ? later_time(order, each->time) : each->time;
    struct timespec times[2] = {time, time};
    const char *name = each->path;
    bool top = is_top_path(each->path);
    int parent = top ? apply->root.root : anchor_parent(&apply->root, each->path, &name);
    bool passed = parent < 0 ? errno == ENOENT || errno == ENOTDIR : is_newer(parent, name, apply->order.after);
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
  char *parent = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path));
  if (parent == NULL) fail(ENOMEM, "remember", path);
  if (apply->parent != NULL && strcmp(apply->parent, parent) == 0) return free(parent);
  free(apply->parent);
  apply->parent = parent;
  struct found found = {.state = FOUND_ENTRY};
  if (slash != NULL) resolve(&apply->uppers, parent, &found);
  else if (fstat(apply->uppers.root.fds[0], &found.status) != 0) fail(errno, "stat", ".");
  if (found.state != FOUND_ENTRY || !S_ISDIR(found.status.st_mode)) return;
  count_time(&apply->order, found.status.st_mtim);
  date_later(apply, parent, found.status.st_mtim, false);
}

/* Counts an entry of the layers in the order of times; with `dates` it is given its own at the end. */
static void weigh(struct apply *apply, const char *path, bool dates) {
  struct found found;
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

static int make_directory(const struct place *place) {
  write_as_owner(place);
  int result = mkdirat(place->parent, place->name, 0700);
  write_as_self(place);
  return result;
}

/* One that was made here and by nobody else. */
static bool is_fresh_directory(const struct place *place, int fd, const struct stat *status) {
  struct listing listing;
  if (status->st_uid != place->lent_uid || list_directory(fd, &listing) != 0) return false;
  bool empty = listing.count == 0;
  free_listing(&listing);
  return empty;
}

/* An existing directory keeps its owner, and its setgid; its mode is changed with the rights of whoever may write beside it. */
static bool set_existing_mode(const struct place *place, int fd, const struct stat *status, mode_t mode) {
  mode |= status->st_mode & S_ISGID;
  if ((status->st_mode & 07777) == mode) return true;
  write_as_owner(place);
  bool set = fchmod(fd, mode) == 0;
  write_as_self(place);
  return set;
}

static enum replaced put_directory(const struct place *place, const struct found *found) {
  struct stat status;
  int source = open_directory(found->directory, place->name);
  if (source < 0) fail(errno, "open", place->path);
  bool made = make_directory(place) == 0;
  int fd = made || errno == EEXIST ? open_directory(place->parent, place->name) : -1;
  if (fd < 0 && !made && (errno == ENOTDIR || errno == ELOOP)) {
    /* A file or link in the way. */
    if (take_away(place) == CLASHED) return close(source), CLASHED;
    made = make_directory(place) == 0;
    if (!made && (place->expected == NULL || errno != EEXIST)) fail(errno, "create", place->path);
    fd = open_directory(place->parent, place->name);
    if (fd < 0 && place->expected != NULL && (errno == ENOTDIR || errno == ELOOP)) return close(source), CLASHED;
  }
  if (fd < 0) fail(errno, "create", place->path);
  if (fstat(fd, &status) != 0) fail(errno, "stat", place->path);
  mode_t mode = found->status.st_mode & 07777;
  if (made && place->lends && !is_fresh_directory(place, fd, &status)) {
    if (place->expected == NULL) fail_exchanged(place);
    return close(fd), close(source), CLASHED;
  }
  if (made || !place->lends || status.st_uid == place->lent_uid) copy_user_attributes(source, fd);
  bool set = made || !place->persons ? (!place->chowns || fchown(fd, place->uid, place->gid) == 0) && fchmod(fd, mode) == 0
                  : set_existing_mode(place, fd, &status, mode);
  if (!set) fail(errno, "set metadata", place->path);
  close(fd);
  close(source);
  return REPLACED;
}

/* The directory itself: only its mode is the fork's to give. */
static void put_top(struct apply *apply) {
  struct stat status;
  if (fstat(apply->uppers.root.fds[0], &status) != 0 || fchmod(apply->root.root, status.st_mode & 01777) != 0)
    fail(errno, "set metadata", ".");
  if (apply->options->whole) date_later(apply, ".", status.st_mtim, false);
}

/* False: the directory that holds the path is not there any more, which only the person can have done. */
static bool find_place(struct apply *apply, const char *path, struct place *place) {
  *place = (struct place){.path = path};
  place->parent = anchor_parent(&apply->root, path, &place->name);
  int error = errno;
  place->persons = is_known_root(apply->options->to);
  if (place->parent >= 0 && !apply->knows_above && fstat(place->parent, &apply->above) != 0) fail(errno, "stat", path);
  if (place->parent >= 0 && place->persons) lend_ids(place, &apply->above);
  if (apply->expected.root.count > 0) {
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
  if (!find_place(apply, path, &place)) {
    if (is_lost_parent(&place)) return CLASHED;
    fail(errno, "open parent", path);
  }
  if (place.expected != NULL && !S_ISREG(found.status.st_mode)) sweep(&place, &found);
  place.dated = dated;
  set_owner(&place, &found.status, apply);
  enum replaced replaced;
  switch (found.status.st_mode & S_IFMT) {
    case S_IFREG: return put_file_or_link(apply, &place, &found);
    case S_IFLNK:
    case S_IFIFO: return put_special(&place, &found);
    case S_IFSOCK: /* in the store alone */
      if (!apply->options->sockets) fail(EPERM, "put a device or socket", path);
      return put_special(&place, &found);
    case S_IFDIR:
      replaced = put_directory(&place, &found);
      if (apply->options->whole && !apply->options->forward) date_later(apply, path, found.status.st_mtim, false);
      return replaced;
    default: fail(EPERM, "put a device or socket", path);
  }
}

/* What is gone already is done: a plan can be run again after an interruption. */
static enum replaced remove_entry(struct apply *apply, const char *path) {
  struct place place;
  const struct found nothing = {.state = FOUND_NOTHING};
  if (!find_place(apply, path, &place)) {
    if (errno == ENOENT || errno == ENOTDIR) return REPLACED;
    fail(errno, "open parent", path);
  }
  if (place.expected != NULL) sweep(&place, &nothing);
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

static void date(struct apply *apply, const char *action, const char *path) {
  bool puts = strcmp(action, "put") == 0, touches = strcmp(action, "touch") == 0;
  if (strcmp(action, "know") == 0) return;
  if (strcmp(action, "age") == 0) age(apply, path);
  if (strcmp(action, "remove") != 0) weigh(apply, path, puts || touches);
  if (!touches && strcmp(action, "weigh") != 0) date_parent(apply, path);
}

static void tell(const char *path, enum replaced replaced) {
  put_field(path);
  put_field(replaced == REPLACED ? "done" : "clash");
  flush_output_if_late();
}

static void named(void *context, const struct waiting *file, enum replaced replaced) {
  struct apply *apply = context;
  const char *path = file->place.path;
  if (apply->options->forward && replaced == REPLACED) date(apply, file->action, path);
  tell(path, replaced);
}

static void name_all(struct apply *apply) { name_batch(apply->options->durable, named, apply); }

static bool is_beside(const char *path, const char *other) {
  const char *slash = strrchr(path, '/'), *other_slash = strrchr(other, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  return length == (other_slash == NULL ? 0 : (size_t)(other_slash - other)) && memcmp(path, other, length) == 0;
}

int apply_verb(const struct options *options) {
  struct apply apply = {.options = options};
  const char *last = "";
  apply.root.root = open_named_root(options->to);
  apply.uppers.root = open_layers(&options->uppers);
  if (options->layers.count > 0) apply.expected.root = open_layers(&options->layers);
  struct records records = read_records();
  for (const char *action; (action = next_record(&records)) != NULL;) {
    const char *path = next_record(&records);
    bool top = path != NULL && is_top_path(path) && strcmp(action, "put") == 0;
    if (path == NULL || (!top && !is_plain_path(path))) fail(EINVAL, "apply", path == NULL ? "" : path);
    /* What waits is named by directories that are open: before one goes, or is left with files that need more of it. */
    bool beside = is_beside(path, last);
    bool keeps = strcmp(action, "remove") != 0 && (beside || leave_batch_directory());
    if (!keeps || is_batch_full()) name_all(&apply);
    if (!beside) apply.knows_above = false;
    last = path;
    apply.action = action;
    working_on(path);
    let_wanted_go();
    enum replaced replaced = REPLACED;
    if (top) put_top(&apply);
    else if (strcmp(action, "put") == 0) replaced = put(&apply, path, !options->forward);
    else if (strcmp(action, "keep") == 0 || strcmp(action, "age") == 0) replaced = put(&apply, path, true);
    else if (strcmp(action, "remove") == 0) replaced = remove_entry(&apply, path);
    else if (strcmp(action, "sweep") == 0) sweep_entry(&apply, path);
    else if (strcmp(action, "know") == 0) know_link(&apply, path);
    else if (strcmp(action, "touch") != 0 && strcmp(action, "weigh") != 0) fail(EINVAL, "apply", path);
    apply.knows_above = replaced == LATER;
    if (replaced == LATER) continue;
    if (options->forward && !top && replaced == REPLACED) date(&apply, action, path);
    tell(path, replaced);
  }
  name_all(&apply);
  set_dates(&apply);
  if (options->durable && syncfs(apply.root.root) != 0) fail(errno, "sync", options->to);
  let_retired_go();
  if (options->forward) {
    put_field("");
    put_number((uint64_t)apply.order.after, false);
  }
  return 0;
}
