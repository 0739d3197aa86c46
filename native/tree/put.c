/*
 * Entries of a fork put into the person's directory: files, links to them, symbolic links, fifos and directories. Each
 * is made beside its place (put_in_place) but for directories, and gets its owner, mode and attributes before its name.
 */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static atomic_ullong bytes;

/* An id below the shift is none that the jail could have given: the directory's owner takes the entry. */
void set_owner(struct place *place, const struct stat *status, const struct apply *apply) {
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

/* What is under the temporary's name is then not ours to remove. */
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
static void tell_narrowed(const struct place *place) {
  put_raw(place->path, strlen(place->path));
  put_field("narrowed");
}

static void fill_file(const struct apply *apply, const struct place *place, const struct found *found, int to) {
  struct stat status = found->status;
  int from = open_seen_regular(found->directory, place->name, &status);
  if (from < 0) fail(errno, "open", place->path);
  int error = copy_content(from, to, &status, &bytes);
  if (error != 0) fail(error, "copy", place->path);
  error = copy_user_attributes(from, to);
  if (error != 0) fail(error, "copy", place->path);
  struct timespec times[2] = {status.st_mtim, status.st_mtim};
  /* Before the mode, which then says what of the list counts. Without its list the group gets nothing by a mode that is
   * its mask. */
  bool is_new = place->expected != NULL && place->expected->state != FOUND_ENTRY;
  int restored = place->undoes ? restore_access_list(from, to) : -1;
  bool listed = restored < 0 ? is_new || keep_access_list(place, to) : restored > 0;
  if (!listed) tell_narrowed(place);
  mode_t mode = status.st_mode & (listed ? 0777 : 0707);
  bool chowns = place->chowns && !is_made_as_owner(place, apply);
  if ((chowns && fchown(to, place->uid, place->gid) != 0) || set_mode(to, mode) != 0 ||
      (place->dated && futimens(to, times) != 0))
    fail(errno, "set metadata", place->path);
  if (apply->options->durable && !apply->beside.building) start_writing(to);
  close(from);
}

/*
 * Of a file that is made without a name or in a directory that no one knows, until it has its attributes. What an undo
 * brings back may lack the list of rights that its group bits are the mask of: no one else gets anything before that is
 * known.
 */
static mode_t first_mode(const struct place *place, const struct found *found) {
  return place->undoes ? 0600 : (found->status.st_mode & 0777) | 0600;
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

/*
 * No one else knows the directory: under its own name at once, and with its mode, which is new to everyone. CLASHED:
 * something is there all the same.
 */
static enum replaced put_inside(const struct apply *apply, const struct place *place, const struct found *found) {
  write_as_owner(place);
  int to = openat(place->parent, place->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  first_mode(place, found));
  write_as_self(place);
  if (to < 0 && errno == EEXIST) return CLASHED;
  if (to < 0) fail(errno, "create", place->path);
  fill_file(apply, place, found, to);
  if (close(to) != 0) fail(errno, "write", place->path);
  return REPLACED;
}

/* False: it has to be made under a name. */
static bool put_later(const struct apply *apply, const struct place *place, const struct found *found,
                      struct link *link) {
  struct waiting file = {.place = *place, .action = apply->action, .status = found->status, .link = link};
  if (place->expected == NULL || (file.fd = open_unnamed(place, first_mode(place, found))) < 0) return false;
  if (place->expected->state == FOUND_ENTRY) sweep_old(place, found);
  fill_file(apply, place, found, file.fd);
  if (link != NULL && fstat(file.fd, &file.made) != 0) fail(errno, "stat", place->path);
  add_waiting(&file);
  return true;
}

/* By descriptor, and only what can have been made here: what is under the name may be another one by now. */
static void own_special(const struct place *place, const char *temporary, mode_t type) {
  struct stat status;
  if (!place->chowns) return;
  int fd = openat(place->parent, temporary, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) fail(errno, "open", place->path);
  if ((status.st_mode & S_IFMT) != type || (place->lends && status.st_uid != place->lent_uid)) fail_exchanged(place);
  if (fchownat(fd, "", place->uid, place->gid, AT_EMPTY_PATH) != 0) fail(errno, "set metadata", place->path);
  close(fd);
}

enum replaced put_special(const struct place *place, const struct found *found) {
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

/* A further name, under the temporary's, of a file that was put before. False: it is not there any more, or takes no
 * more. */
static bool link_beside(struct apply *apply, const struct place *place, const struct link *link, char *temporary) {
  const char *name;
  struct stat status;
  struct anchor anchor = {0};
  const char *path = anchor_of_put(apply, link->path, &anchor);
  int parent = anchor_parent(&anchor, path, &name);
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

enum replaced put_file_or_link(struct apply *apply, const struct place *place, const struct found *found) {
  char temporary[64];
  struct stat status;
  bool links = (apply->options->whole || apply->options->forward) && found->status.st_nlink > 1;
  if (links && is_being_copied(&found->status)) return BLOCKED;
  struct link *link = links ? claim_link(&found->status) : NULL;
  if (link != NULL && link->path != NULL && link_beside(apply, place, link, temporary))
    return put_in_place(place, temporary);
  bool inside = apply->beside.building;
  if (!inside && put_later(apply, place, found, link)) return LATER;
  enum replaced replaced = inside ? put_inside(apply, place, found) : put_file(apply, place, found);
  if (link != NULL) {
    bool put = replaced == REPLACED && fstatat(place->parent, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    settle_link(link, put ? copy_text(place->path) : NULL, put ? &status : &found->status);
  }
  return replaced;
}

void know_link(struct apply *apply, const char *path) {
  struct found found;
  struct stat status;
  const char *name;
  resolve(&apply->uppers, path, &found);
  int parent = anchor_parent(&apply->root, path, &name);
  bool there = parent >= 0 && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  if (!there || found.state != FOUND_ENTRY || found.status.st_nlink < 2) return;
  struct link *link = claim_link(&found.status);
  if (link->path == NULL) settle_link(link, copy_text(path), &status);
}

static const char *made_name(const struct place *place) {
  return place->made_as != NULL ? place->made_as : place->name;
}

/*
 * With its mode at once, as far as we can open it then: one that a kill leaves with another would look like an edit of
 * the person's. Where ids are lent, others write into it only when it is known to be ours.
 */
static int make_directory(const struct place *place, mode_t mode) {
  write_as_owner(place);
  int result = mkdirat(place->parent, made_name(place), 0700 | (mode & (place->lends ? 0755 : 0777)));
  write_as_self(place);
  return result;
}

/* One that was made here and by no one else. */
static bool is_fresh_directory(const struct place *place, int fd, const struct stat *status) {
  struct listing listing;
  if (status->st_uid != place->lent_uid || list_directory(fd, &listing) != 0) return false;
  bool empty = listing.count == 0;
  free_listing(&listing);
  return empty;
}

/*
 * An existing directory keeps its owner, and its setgid unless an apply that is undone gave it; its mode is changed
 * with the rights of anyone who may write beside it.
 */
static bool set_existing_mode(const struct place *place, int fd, const struct stat *status, mode_t mode) {
  if (!place->undoes) mode |= status->st_mode & S_ISGID;
  if ((status->st_mode & 07777) == mode) return true;
  write_as_owner(place);
  bool set = fchmod(fd, mode) == 0;
  write_as_self(place);
  return set;
}

/* Gone since it was made, or another entry: only the person can have done that. */
static bool is_lost(const struct place *place) {
  return place->expected != NULL && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

/*
 * Those that the fork took away go, those that the person's directory alone has stay. A tree of the store gets exactly
 * those of the fork.
 */
static int give_attributes(const struct place *place, int source, int to) {
  const struct found *expected = place->expected;
  if (expected == NULL) return change_user_attributes(to, source, to);
  bool stood = expected->state == FOUND_ENTRY && S_ISDIR(expected->status.st_mode);
  int before = stood ? open_directory(expected->directory, place->name) : -1;
  if (before < 0) return copy_user_attributes(source, to);
  int error = change_user_attributes(before, source, to);
  close(before);
  return error;
}

enum replaced put_directory(const struct place *place, const struct found *found) {
  struct stat status;
  int source = open_directory(found->directory, place->name);
  if (source < 0) fail(errno, "open", place->path);
  mode_t mode = found->status.st_mode & 07777;
  bool made = make_directory(place, mode) == 0;
  int fd = made || errno == EEXIST ? open_directory(place->parent, made_name(place)) : -1;
  if (fd < 0 && !made && (errno == ENOTDIR || errno == ELOOP)) {
    /* A file or link in the way. */
    if (take_away(place) == CLASHED) return close(source), CLASHED;
    made = make_directory(place, mode) == 0;
    if (!made && (place->expected == NULL || errno != EEXIST)) fail(errno, "create", place->path);
    fd = open_directory(place->parent, place->name);
  }
  if (fd < 0 && is_lost(place)) return close(source), CLASHED;
  if (fd < 0) fail(errno, "create", place->path);
  if (fstat(fd, &status) != 0) fail(errno, "stat", place->path);
  if (made && place->lends && !is_fresh_directory(place, fd, &status)) {
    if (place->expected == NULL) fail_exchanged(place);
    return close(fd), close(source), CLASHED;
  }
  bool ours = made || !place->lends || status.st_uid == place->lent_uid;
  int error = ours ? give_attributes(place, source, fd) : 0;
  if (error != 0) fail(error, "set metadata", place->path);
  bool set = made || !place->persons
                 ? (!place->chowns || fchown(fd, place->uid, place->gid) == 0) && fchmod(fd, mode) == 0
                 : set_existing_mode(place, fd, &status, mode);
  if (!set) fail(errno, "set metadata", place->path);
  close(fd);
  close(source);
  return REPLACED;
}
