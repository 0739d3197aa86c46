/*
 * apply: a plan, record by record, from a fork's layers onto the person's directory. What is put there is made beside
 * its place and renamed over it, so that each file is the old one or the new one whenever this stops.
 * An agent's file never gains power by it: no setuid, setgid or sticky files, no devices, no attributes but user.*.
 * With --whole the directory holds nothing but what is put there: hard links and the times of directories come along.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A directory that was put, and the time it gets when everything is in it. */
struct dated {
  char *path;
  struct timespec time;
};

struct apply {
  const struct options *options;
  struct anchor root;
  struct resolver uppers;
  struct dated *dated;
  size_t dated_count, dated_room;
};

struct place {
  const char *path, *name;
  int parent;
  uid_t uid;
  gid_t gid;
  bool chowns;
};

static atomic_ullong bytes;

/*
 * The same name for the same place, every time: what a run that was killed left in the person's directory is found again
 * by the next one, which has to put that entry still, and goes with it. Anything but a directory under such a name is ours.
 */
static void temporary_name(const struct place *place, char text[64]) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (const char *at = place->name; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  snprintf(text, 64, ".ctx-%016llx.new", (unsigned long long)hash);
  (void)!unlinkat(place->parent, text, 0);
}

/* An id below the shift is none that the jail could have given: the directory's owner takes the entry. */
static void set_owner(struct place *place, const struct stat *status, const struct options *options) {
  struct stat parent;
  if (!options->privileged) return;
  if (fstat(place->parent, &parent) != 0) fail(errno, "stat", place->path);
  bool shifted = status->st_uid >= options->shift && status->st_gid >= options->shift;
  place->uid = shifted ? status->st_uid - options->shift : parent.st_uid;
  place->gid = shifted ? status->st_gid - options->shift : parent.st_gid;
  place->chowns = true;
}

static void rename_over(const struct place *place, const char *temporary) {
  if (renameat(place->parent, temporary, place->parent, place->name) == 0) return guard_temporary(-1, "");
  /* An empty directory in the way: the plan has removed what was in it. */
  if (errno == EISDIR && unlinkat(place->parent, place->name, AT_REMOVEDIR) == 0 &&
      renameat(place->parent, temporary, place->parent, place->name) == 0)
    return guard_temporary(-1, "");
  fail(errno, "rename", place->path);
}

/* What stands under the temporary's name is then not ours to remove. */
_Noreturn static void fail_to_create(const struct place *place) {
  int error = errno;
  guard_temporary(-1, "");
  fail(error, "create", place->path);
}

/* True: the file is a further name of one that was put before. */
static bool put_link(const struct apply *apply, const struct place *place, const struct link *link) {
  const char *name;
  struct anchor anchor = {.root = apply->root.root};
  int parent = anchor_parent(&anchor, link->path, &name);
  bool linked = parent >= 0 && linkat(parent, name, place->parent, place->name, 0) == 0;
  int error = errno;
  anchor_forget(&anchor);
  if (!linked && error != EMLINK && error != EPERM) fail(error, "link", place->path);
  return linked;
}

static void put_file(const struct place *place, const struct found *found) {
  struct stat status;
  char temporary[64];
  int from = open_regular(found->directory, place->name, &status);
  if (from < 0) fail(errno, "open", place->path);
  temporary_name(place, temporary);
  guard_temporary(place->parent, temporary); /* before it is made: a signal may come right after */
  int to = openat(place->parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (to < 0) fail_to_create(place);
  int error = copy_content(from, to, &status, &bytes);
  if (error != 0) fail(error, "copy", place->path);
  error = copy_user_attributes(from, to);
  if (error == ENOSPC || error == EDQUOT) fail(error, "copy", place->path);
  struct timespec times[2] = {status.st_mtim, status.st_mtim};
  if ((place->chowns && fchown(to, place->uid, place->gid) != 0) || fchmod(to, status.st_mode & 0777) != 0 ||
      futimens(to, times) != 0)
    fail(errno, "set metadata", place->path);
  if (close(to) != 0) fail(errno, "write", place->path);
  close(from);
  rename_over(place, temporary);
}

static void put_special(const struct place *place, const struct found *found) {
  char temporary[64], text[PATH_MAX + 1];
  temporary_name(place, temporary);
  if (S_ISLNK(found->status.st_mode)) {
    ssize_t length = readlinkat(found->directory, place->name, text, PATH_MAX);
    if (length < 0) fail(errno, "readlink", place->path);
    text[length] = '\0';
    guard_temporary(place->parent, temporary);
    if (symlinkat(text, place->parent, temporary) != 0) fail_to_create(place);
  } else {
    guard_temporary(place->parent, temporary);
    if (mknodat(place->parent, temporary, S_IFIFO | (found->status.st_mode & 0777), 0) != 0) fail_to_create(place);
  }
  struct timespec times[2] = {found->status.st_mtim, found->status.st_mtim};
  if ((place->chowns && fchownat(place->parent, temporary, place->uid, place->gid, AT_SYMLINK_NOFOLLOW) != 0) ||
      utimensat(place->parent, temporary, times, AT_SYMLINK_NOFOLLOW) != 0)
    fail(errno, "set metadata", place->path);
  rename_over(place, temporary);
}

static void put_file_or_link(const struct apply *apply, const struct place *place, const struct found *found) {
  struct link *link = apply->options->whole && found->status.st_nlink > 1 ? claim_link(&found->status) : NULL;
  if (link != NULL && link->path != NULL && put_link(apply, place, link)) return;
  put_file(place, found);
  if (link != NULL && link->path == NULL) settle_link(link, strdup(place->path), &found->status);
}

static void date_later(struct apply *apply, const char *path, struct timespec time) {
  if (apply->dated_count == apply->dated_room) {
    apply->dated_room = apply->dated_room == 0 ? 64 : apply->dated_room * 2;
    apply->dated = reallocarray(apply->dated, apply->dated_room, sizeof *apply->dated);
    if (apply->dated == NULL) fail(ENOMEM, "remember", path);
  }
  apply->dated[apply->dated_count++] = (struct dated){strdup(path), time};
}

static void set_dates(struct apply *apply) {
  for (size_t i = 0; i < apply->dated_count; i++) {
    const struct dated *each = &apply->dated[i];
    struct timespec times[2] = {each->time, each->time};
    const char *name = each->path;
    bool top = is_top_path(each->path);
    int parent = top ? apply->root.root : anchor_parent(&apply->root, each->path, &name);
    if (parent < 0 || (top ? futimens(parent, times) : utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW)) != 0)
      fail(errno, "set metadata", each->path);
  }
}

static void put_directory(const struct place *place, const struct found *found) {
  int source = open_directory(found->directory, place->name);
  if (source < 0) fail(errno, "open", place->path);
  int made = mkdirat(place->parent, place->name, 0700);
  int fd = made == 0 || errno == EEXIST ? open_directory(place->parent, place->name) : -1;
  if (fd < 0 && made != 0 && (errno == ENOTDIR || errno == ELOOP)) {
    /* A file or link in the way. */
    if (unlinkat(place->parent, place->name, 0) != 0 || mkdirat(place->parent, place->name, 0700) != 0)
      fail(errno, "create", place->path);
    fd = open_directory(place->parent, place->name);
  }
  if (fd < 0) fail(errno, "create", place->path);
  copy_user_attributes(source, fd);
  if ((place->chowns && fchown(fd, place->uid, place->gid) != 0) || fchmod(fd, found->status.st_mode & 07777) != 0)
    fail(errno, "set metadata", place->path);
  close(fd);
  close(source);
}

/* The directory itself: only its mode is the fork's to give. */
static void put_top(struct apply *apply) {
  struct stat status;
  if (fstat(apply->uppers.root.fds[0], &status) != 0 || fchmod(apply->root.root, status.st_mode & 01777) != 0)
    fail(errno, "set metadata", ".");
  if (apply->options->whole) date_later(apply, ".", status.st_mtim);
}

static void put(struct apply *apply, const char *path) {
  struct place place = {.path = path};
  struct found found;
  resolve(&apply->uppers, path, &found);
  if (found.state != FOUND_ENTRY) fail(ENOENT, "read", path);
  place.parent = anchor_parent(&apply->root, path, &place.name);
  if (place.parent < 0) fail(errno, "open parent", path);
  set_owner(&place, &found.status, apply->options);
  switch (found.status.st_mode & S_IFMT) {
    case S_IFREG: put_file_or_link(apply, &place, &found); break;
    case S_IFLNK:
    case S_IFIFO: put_special(&place, &found); break;
    case S_IFDIR:
      put_directory(&place, &found);
      if (apply->options->whole) date_later(apply, path, found.status.st_mtim);
      break;
    default: fail(EPERM, "put a device or socket", path);
  }
}

/* What is gone already is done: a plan can be run again after an interruption. */
static void remove_entry(struct apply *apply, const char *path) {
  const char *name;
  int parent = anchor_parent(&apply->root, path, &name);
  if (parent < 0 && (errno == ENOENT || errno == ENOTDIR)) return;
  if (parent < 0) fail(errno, "open parent", path);
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return;
  if ((errno != EISDIR && errno != EPERM) || unlinkat(parent, name, AT_REMOVEDIR) != 0) fail(errno, "remove", path);
  if (parent == apply->root.root) anchor_forget(&apply->root); /* what was removed may be the parent remembered */
}

int apply_verb(const struct options *options) {
  struct apply apply = {.options = options};
  apply.root.root = open_named_root(options->to);
  apply.uppers.root = open_layers(&options->uppers);
  struct records records = read_records();
  for (const char *action; (action = next_record(&records)) != NULL;) {
    const char *path = next_record(&records);
    bool top = path != NULL && is_top_path(path) && strcmp(action, "put") == 0;
    if (path == NULL || (!top && !is_plain_path(path))) fail(EINVAL, "apply", path == NULL ? "" : path);
    working_on(path);
    if (top) put_top(&apply);
    else if (strcmp(action, "put") == 0) put(&apply, path);
    else if (strcmp(action, "remove") == 0) remove_entry(&apply, path);
    else fail(EINVAL, "apply", path);
    put_field(path);
    put_field("done");
    flush_output_if_late();
  }
  set_dates(&apply);
  return 0;
}
