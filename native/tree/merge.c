/*
 * merge: several layers become one that shows the same over whatever lies below. Frozen files are linked, not copied:
 * no mount ever writes to a file of a lower layer.
 *
 * With --lower (what they lay on), what the layers only repeat of it at the paths of stdin is left out, and an opaque
 * directory becomes a plain one that deletes by name: so that what is put below them later shows through, except where
 * they really change it. With --below (what they will lie on), deletions of what is not there are left out.
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
static bool has_lower, has_below;
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

/* Of a directory: but for what is in it. */
static bool repeats(const char *name, const struct found *found, const struct found *lower) {
  if (lower->state != FOUND_ENTRY || !same_metadata(&found->status, &lower->status)) return false;
  return same_content(found->directory, &found->status, lower->directory, &lower->status, name, name) &&
         same_attributes(found->directory, name, lower->directory, name);
}

static void copy_entry(const char *name, const struct found *found, int target) {
  if (!options->copies && linkat(found->directory, name, target, name, 0) == 0) return;
  if (!options->copies && errno != EMLINK && errno != EPERM && errno != EXDEV) fail(errno, "link", path.data);
  struct leaf leaf;
  enum outcome outcome = open_leaf(found->directory, name, &leaf);
  if (outcome == LEAF_COPIED) outcome = copy_leaf(found->directory, name, &leaf, target, options, &bytes);
  if (outcome == LEAF_FAILED) fail(leaf.error, leaf.why, path.data);
  /* Of frozen layers nothing is left out: they may go when they are merged. */
  bool lost = outcome == LEAF_VANISHED || (outcome == LEAF_LEFT_OUT && leaf.error != ENOTSUP);
  if (lost && !options->copies) fail(outcome == LEAF_VANISHED ? ENOENT : leaf.error, "copy", path.data);
  if (outcome == LEAF_LEFT_OUT || outcome == LEAF_UNSTABLE) note_problem(copy_text(path.data), leaf.error, leaf.why);
  /* A copy for a person drops these; a layer is exact. */
  bool marked = outcome == LEAF_COPIED && S_ISREG(leaf.status.st_mode) && (leaf.status.st_mode & 06000) != 0;
  if (marked && fchmodat(target, name, leaf.status.st_mode & 07777, 0) != 0) fail(errno, "set metadata", path.data);
  close_leaf(&leaf);
}

/*
 * The layers that are merged; what they lay on, and what they will lie on. The latter two have no layers where unknown.
 */
struct sides {
  struct layers from, lower, below;
};

static void merge_directory(const struct sides *sides, int target);

static void finish_directory(int source, int target, const struct stat *status) {
  int error = copy_user_attributes(source, target);
  if (error == 0) error = store_metadata(target, status, status->st_mode & 07777, options);
  if (error != 0) fail(error, "set metadata", path.data);
}

static void make_directory(const char *name, const struct found *found, const struct sides *children,
                           const struct found *lower, const struct found *below, int target) {
  if (mkdirat(target, name, 0700) != 0) fail(errno, "create", path.data);
  int fd = open_directory(target, name);
  if (fd < 0) fail(errno, "open", path.data);
  bool hides = has_below ? children->below.count > 0 : !options->whole;
  if (children->from.stopped && hides && !has_lower && fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) != 0)
    fail(errno, "mark", path.data);
  merge_directory(children, fd);
  bool repeated = is_asked() && repeats(name, found, lower);
  /* One that has to stay for what it holds looks as what will lie below it does. */
  bool follows = repeated && children->below.count > 0;
  if (!repeated || unlinkat(target, name, AT_REMOVEDIR) != 0)
    finish_directory(follows ? children->below.fds[0] : children->from.fds[0], fd,
                     follows ? &below->status : &found->status);
  close(fd);
}

/*
 * A mark of a deletion where nothing is deleted would show: the kernel lists a directory that only one layer has as it
 * is.
 */
static void white_out(int target, const char *name, const struct layers *below) {
  struct found found = {.state = FOUND_NOTHING};
  if (has_below) look_up(below, name, &found, NULL);
  if (options->whole || (has_below && found.state != FOUND_ENTRY)) return;
  if (mknodat(target, name, S_IFCHR, makedev(0, 0)) != 0) fail(errno, "white out", path.data);
}

static void merge_entry(const struct sides *sides, const char *name, int target) {
  struct found found, lower, below;
  struct sides children;
  look_up(&sides->from, name, &found, &children.from);
  look_up(&sides->lower, name, &lower, &children.lower);
  look_up(&sides->below, name, &below, &children.below);
  bool asked_for = has_lower && is_asked();
  if (found.state == FOUND_WHITEOUT) {
    if (!asked_for || lower.state == FOUND_ENTRY) white_out(target, name, &sides->below);
  } else if (found.state == FOUND_ENTRY && S_ISDIR(found.status.st_mode)) {
    make_directory(name, &found, &children, &lower, &below, target);
  } else if (found.state == FOUND_ENTRY && !(asked_for && repeats(name, &found, &lower))) {
    copy_entry(name, &found, target);
  }
  close_layers(&children.from);
  close_layers(&children.lower);
  close_layers(&children.below);
}

/* What an opaque directory hides, one by one. */
static void hide_the_rest(const struct listing *names, const struct sides *sides, int target) {
  struct listing lower;
  list_layers(&sides->lower, &lower);
  for (size_t i = 0, j = 0; i < lower.count; i++) {
    const char *name = lower.names[i].text;
    while (j < names->count && strcmp(names->names[j].text, name) < 0) j++;
    if (j < names->count && strcmp(names->names[j].text, name) == 0) continue;
    struct found found;
    look_up(&sides->lower, name, &found, NULL);
    if (found.state == FOUND_ENTRY) white_out(target, name, &sides->below);
  }
  free_listing(&lower);
}

static void merge_directory(const struct sides *sides, int target) {
  struct listing names;
  list_layers(&sides->from, &names);
  size_t prefix = path.length;
  for (size_t i = 0; i < names.count; i++) {
    if (prefix > 0) append(&path, "/", 1);
    append(&path, names.names[i].text, strlen(names.names[i].text) + 1);
    path.length--;
    working_on(path.data);
    merge_entry(sides, names.names[i].text, target);
    path.length = prefix;
    path.data[prefix] = '\0'; /* the caller asks for its own path again */
  }
  if (sides->from.stopped) hide_the_rest(&names, sides, target);
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
  has_lower = given->layers.count > 0;
  has_below = given->belows.count > 0;
  struct sides sides = {open_layers(&given->uppers), open_layers(&given->layers), open_layers(&given->belows)};
  struct stat status;
  if (has_lower) read_asked();
  if (mkdir(given->into, 0700) != 0) fail(errno, "create", given->into);
  int target = open_named_root(given->into);
  append(&path, "", 1);
  path.length = 0;
  merge_directory(&sides, target);
  if (fstat(sides.from.fds[0], &status) != 0) fail(errno, "stat", given->uppers.items[0]);
  finish_directory(sides.from.fds[0], target, &status);
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
