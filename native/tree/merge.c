/*
 * merge: several layers become one that shows the same over whatever lies below. Frozen files are linked, not copied: no
 * mount ever writes to a file of a lower layer.
 *
 * With --lower, what the layers only repeat of it at the paths of stdin is left out, and an opaque directory becomes a plain
 * one that deletes by name: so that what is put below them later shows through, except where they really change it.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct buffer path; /* of the entry at hand, NUL-terminated, length without the NUL */
static const struct options *options;
static const char **asked; /* sorted */
static size_t asked_count;
static atomic_ullong bytes;

static int by_text(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool is_asked(void) {
  const char *key = path.data;
  return asked_count > 0 && bsearch(&key, asked, asked_count, sizeof *asked, by_text) != NULL;
}

static bool same_metadata(const struct stat *left, const struct stat *right) {
  return (S_ISLNK(left->st_mode) || left->st_mode == right->st_mode) && left->st_uid == right->st_uid &&
         left->st_gid == right->st_gid;
}

static bool repeats(const char *name, const struct found *found, const struct found *lower) {
  if (lower->state != FOUND_ENTRY || !same_metadata(&found->status, &lower->status)) return false;
  return same_content(found->directory, &found->status, lower->directory, &lower->status, name, name);
}

static void white_out(int target, const char *name) {
  if (mknodat(target, name, S_IFCHR, makedev(0, 0)) != 0) fail(errno, "white out", path.data);
}

static void copy_entry(const char *name, const struct found *found, int target) {
  if (!options->copies && linkat(found->directory, name, target, name, 0) == 0) return;
  if (!options->copies && errno != EMLINK && errno != EPERM && errno != EXDEV) fail(errno, "link", path.data);
  struct leaf leaf;
  enum outcome outcome = open_leaf(found->directory, name, &leaf);
  if (outcome == LEAF_COPIED) outcome = copy_leaf(found->directory, name, &leaf, target, options, &bytes);
  if (outcome == LEAF_FAILED) fail(leaf.error, leaf.why, path.data);
  if (outcome == LEAF_LEFT_OUT || outcome == LEAF_UNSTABLE) note_problem(strdup(path.data), leaf.error, leaf.why);
  /* A copy for a person drops these; a layer is exact. */
  bool marked = outcome == LEAF_COPIED && S_ISREG(leaf.status.st_mode) && (leaf.status.st_mode & 06000) != 0;
  if (marked && fchmodat(target, name, leaf.status.st_mode & 07777, 0) != 0) fail(errno, "set metadata", path.data);
  close_leaf(&leaf);
}

static void merge_directory(const struct layers *from, const struct layers *lower, int target);

static void finish_directory(int source, int target, const struct stat *status) {
  copy_user_attributes(source, target);
  int error = store_metadata(target, status, status->st_mode & 07777, options);
  if (error != 0) fail(error, "set metadata", path.data);
}

static void make_directory(const char *name, const struct found *found, const struct layers *children,
                           const struct found *lower, const struct layers *lower_children, int target) {
  if (mkdirat(target, name, 0700) != 0) fail(errno, "create", path.data);
  int fd = open_directory(target, name);
  if (fd < 0) fail(errno, "open", path.data);
  bool plain = options->whole || lower_children != NULL;
  if (children->stopped && !plain && fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) != 0)
    fail(errno, "mark", path.data);
  merge_directory(children, lower_children, fd);
  bool drop = is_asked() && lower != NULL && lower->state == FOUND_ENTRY && same_metadata(&found->status, &lower->status);
  if (!drop || unlinkat(target, name, AT_REMOVEDIR) != 0) finish_directory(children->fds[0], fd, &found->status);
  close(fd);
}

static void merge_entry(const struct layers *from, const struct layers *lowers, const char *name, int target) {
  struct found found, lower = {.state = FOUND_NOTHING};
  struct layers children, lower_children = {0};
  look_up(from, name, &found, &children);
  if (lowers != NULL) look_up(lowers, name, &lower, &lower_children);
  if (found.state == FOUND_WHITEOUT) {
    bool needless = options->whole || (lowers != NULL && is_asked() && lower.state != FOUND_ENTRY);
    if (!needless) white_out(target, name);
  } else if (found.state == FOUND_ENTRY && S_ISDIR(found.status.st_mode)) {
    make_directory(name, &found, &children, lowers == NULL ? NULL : &lower, lowers == NULL ? NULL : &lower_children, target);
  } else if (found.state == FOUND_ENTRY && !(lowers != NULL && is_asked() && repeats(name, &found, &lower))) {
    copy_entry(name, &found, target);
  }
  close_layers(&children);
  close_layers(&lower_children);
}

/* What an opaque directory hides, one by one. */
static void hide_the_rest(const struct listing *names, const struct layers *lower, int target) {
  struct listing below;
  list_layers(lower, &below);
  for (size_t i = 0, j = 0; i < below.count; i++) {
    const char *name = below.names[i].text;
    while (j < names->count && strcmp(names->names[j].text, name) < 0) j++;
    if (j < names->count && strcmp(names->names[j].text, name) == 0) continue;
    struct found found;
    look_up(lower, name, &found, NULL);
    if (found.state == FOUND_ENTRY) white_out(target, name);
  }
  free_listing(&below);
}

static void merge_directory(const struct layers *from, const struct layers *lower, int target) {
  struct listing names;
  list_layers(from, &names);
  size_t prefix = path.length;
  for (size_t i = 0; i < names.count; i++) {
    if (prefix > 0) append(&path, "/", 1);
    append(&path, names.names[i].text, strlen(names.names[i].text) + 1);
    path.length--;
    working_on(path.data);
    merge_entry(from, lower, names.names[i].text, target);
    path.length = prefix;
  }
  if (from->stopped && lower != NULL && lower->count > 0) hide_the_rest(&names, lower, target);
  free_listing(&names);
}

static void read_asked(void) {
  struct records records = read_records();
  size_t capacity = 0;
  for (const char *next; (next = next_record(&records)) != NULL;) {
    if (asked_count == capacity) {
      capacity = capacity * 2 + 64;
      asked = reallocate(asked, capacity * sizeof *asked);
    }
    asked[asked_count++] = next;
  }
  if (asked_count > 1) qsort(asked, asked_count, sizeof *asked, by_text);
}

int merge_verb(const struct options *given) {
  options = given;
  struct layers from = open_layers(&given->uppers), lower = open_layers(&given->layers);
  struct stat status;
  if (lower.count > 0) read_asked();
  if (mkdir(given->into, 0700) != 0) fail(errno, "create", given->into);
  int target = open_named_root(given->into);
  append(&path, "", 1);
  path.length = 0;
  merge_directory(&from, lower.count > 0 ? &lower : NULL, target);
  if (fstat(from.fds[0], &status) != 0) fail(errno, "stat", given->uppers.items[0]);
  finish_directory(from.fds[0], target, &status);
  put_problems();
  return 0;
}

/* held: which paths of stdin these layers decide: they hold it, delete it, or hide what is below it. */
int held_verb(const struct options *given) {
  struct resolver layers = {.root = open_layers(&given->layers)};
  struct records records = read_records();
  for (const char *next; (next = next_record(&records)) != NULL;) {
    struct found found;
    if (!is_plain_path(next)) fail(EINVAL, "held", next);
    working_on(next);
    resolve(&layers, next, &found);
    bool hidden = strchr(next, '/') != NULL && layers.parent.stopped;
    if (found.state != FOUND_NOTHING || hidden) put_field(next);
  }
  return 0;
}
