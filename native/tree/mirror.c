/*
 * mirror: what the person changed in the origin becomes a layer of its own. Parents are made with the origin's
 * metadata, since a layer's directory is what the merged one looks like.
 *
 * With --links a file that the layers have as the origin does becomes a further name of theirs, and is not copied: they
 * are frozen, and so is this one. Never of the origin's own file, which the person writes to.
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static atomic_ullong bytes;

/* Directories made, to be given their times when nothing more is written into them. */
struct made {
  char *path;
  struct stat status;
};

struct mirror {
  const struct options *options;
  struct anchor root, into, ancestors; /* the last: the origin again, while `root` lends out a parent */
  struct resolver layers;
  struct made *made;
  size_t made_count, made_capacity;
  char *missing; /* a directory that the origin had not when it was last looked for: nothing is below it */
};

static char *prefix_of(const char *path, size_t length) {
  char *prefix = allocate(length + 1);
  memcpy(prefix, path, length);
  return prefix;
}

/* The directory `path` of the layer, as the origin has it now. False: something else stands there in the layer. */
static bool make_directory(struct mirror *mirror, char *path, const struct stat *status, int source) {
  const char *name;
  int parent = anchor_parent(&mirror->into, path, &name);
  if (parent < 0 && (errno == ENOTDIR || errno == ELOOP)) return false;
  if (parent < 0) fail(errno, "create", path);
  if (mkdirat(parent, name, 0700) != 0) {
    struct stat present;
    if (errno != EEXIST) fail(errno, "create", path);
    return fstatat(parent, name, &present, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(present.st_mode);
  }
  int fd = open_directory(parent, name);
  if (fd < 0) fail(errno, "open", path);
  int error = copy_user_attributes(source, fd);
  if (error != 0) fail(error, "copy", path);
  close(fd);
  if (mirror->made_count == mirror->made_capacity) {
    mirror->made_capacity = mirror->made_capacity * 2 + 16;
    mirror->made = reallocate(mirror->made, mirror->made_capacity * sizeof *mirror->made);
  }
  mirror->made[mirror->made_count++] = (struct made){copy_text(path), *status};
  return true;
}

static bool make_parents(struct mirror *mirror, const char *path) {
  const char *name;
  if (anchor_parent(&mirror->into, path, &name) >= 0) return true;
  for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    char *prefix = prefix_of(path, (size_t)(slash - path));
    struct stat status;
    const char *step;
    int above = anchor_parent(&mirror->ancestors, prefix, &step);
    int source = above < 0 ? -1 : open_directory(above, step);
    bool made = source >= 0 && fstat(source, &status) == 0 && make_directory(mirror, prefix, &status, source);
    if (source >= 0) close(source);
    free(prefix);
    if (!made) return false;
  }
  return true;
}

static void white_out(struct mirror *mirror, const char *path) {
  struct found found;
  resolve(&mirror->layers, path, &found);
  if (found.state != FOUND_ENTRY || !make_parents(mirror, path)) return;
  const char *name;
  int parent = anchor_parent(&mirror->into, path, &name);
  if (parent < 0) return;
  if (mknodat(parent, name, S_IFCHR, makedev(0, 0)) != 0 && errno != EEXIST) fail(errno, "white out", path);
}

/* Of one that is gone, or something else by now. */
static bool is_no_directory(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static void copy_directory(struct mirror *mirror, int parent, const char *name, char *path) {
  struct stat status;
  int source = open_directory(parent, name);
  if (source < 0) {
    if (!is_no_directory(errno)) note_problem(copy_text(path), errno, "the directory cannot be read");
    return;
  }
  if (fstat(source, &status) != 0) fail(errno, "stat", path);
  if (make_parents(mirror, path)) make_directory(mirror, path, &status, source);
  close(source);
}

/* Names of one file stay names of one file. */
static enum outcome copy_or_link(struct mirror *mirror, int parent, const char *name, const char *path,
                                 struct leaf *leaf, int target, const char *target_name) {
  struct link *link = leaf->fd >= 0 && leaf->status.st_nlink > 1 ? claim_link(&leaf->status) : NULL;
  if (link != NULL && link->path != NULL) {
    const char *known;
    struct anchor anchor = {.root = mirror->into.root};
    int from = anchor_parent(&anchor, link->path, &known);
    bool linked = from >= 0 && linkat(from, known, target, target_name, 0) == 0;
    anchor_forget(&anchor);
    if (linked) return LEAF_COPIED;
  }
  bool first = link != NULL && link->path == NULL;
  enum outcome outcome = copy_leaf(parent, name, leaf, target, mirror->options, &bytes);
  if (outcome == LEAF_COPIED && leaf->fd >= 0) mirror_access_list(leaf->fd, target, target_name);
  if (first) settle_link(link, outcome == LEAF_COPIED ? copy_text(path) : NULL, &leaf->status);
  return outcome;
}

/* As store_metadata and copy_content made it of this file, and nothing was written since. */
static bool is_copy_of(const struct stat *copy, const struct stat *status, const struct options *options) {
  bool own = !options->privileged ||
             (copy->st_uid == status->st_uid + options->shift && copy->st_gid == status->st_gid + options->shift);
  return own && S_ISREG(copy->st_mode) && (copy->st_mode & 07777) == (status->st_mode & 01777) &&
         copy->st_size == status->st_size && nanoseconds(copy->st_mtim) == nanoseconds(status->st_mtim) &&
         (copy->st_ino != status->st_ino || copy->st_dev != status->st_dev);
}

/* Whether it is a name of theirs by now. Names of one file in the layers that are not one in the origin stay apart. */
static bool link_to_layers(struct mirror *mirror, int parent, const char *name, const char *path) {
  struct stat status;
  struct found found;
  const char *target_name;
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || is_racy(&status)) return false;
  resolve(&mirror->layers, path, &found);
  if (found.state != FOUND_ENTRY || !is_copy_of(&found.status, &status, mirror->options)) return false;
  if (may_have_attributes(parent, name) || may_have_attributes(found.directory, name)) return false;
  if (!make_parents(mirror, path)) return false;
  struct link *link = found.status.st_nlink > 1 ? claim_link(&found.status) : NULL;
  if (link != NULL && link->path != NULL) return false;
  int target = anchor_parent(&mirror->into, path, &target_name);
  bool linked = target >= 0 && linkat(found.directory, name, target, target_name, 0) == 0;
  if (link != NULL) settle_link(link, linked ? copy_text(path) : NULL, &found.status);
  return linked;
}

/* One name of an existing parent: copied as it is now, or whited out where it is not there (any more). */
static void copy_entry(struct mirror *mirror, int parent, const char *name, char *path) {
  struct leaf leaf;
  if (mirror->options->links && link_to_layers(mirror, parent, name, path)) return;
  enum outcome outcome = open_leaf(parent, name, &leaf);
  if (outcome == LEAF_LEFT_OUT && mirror->options->sockets && S_ISSOCK(leaf.status.st_mode)) outcome = LEAF_COPIED;
  const char *target_name;
  if (outcome == LEAF_DIRECTORY) {
    copy_directory(mirror, parent, name, path);
  } else if (outcome == LEAF_VANISHED) {
    white_out(mirror, path);
  } else if (outcome == LEAF_COPIED && make_parents(mirror, path)) {
    int target = anchor_parent(&mirror->into, path, &target_name);
    if (target >= 0) outcome = copy_or_link(mirror, parent, name, path, &leaf, target, target_name);
    /* The same ancestor may have been copied for an earlier path of the list. */
    if (outcome == LEAF_FAILED && leaf.error == EEXIST) outcome = LEAF_COPIED;
    if (outcome == LEAF_VANISHED) white_out(mirror, path);
  }
  if (outcome == LEAF_LEFT_OUT) white_out(mirror, path); /* what stood there before is no longer the origin's */
  if (outcome == LEAF_FAILED) fail(leaf.error, leaf.why, path);
  if (outcome == LEAF_LEFT_OUT || outcome == LEAF_UNSTABLE) note_problem(copy_text(path), leaf.error, leaf.why);
  close_leaf(&leaf);
}

/* The parent is not there: the topmost ancestor that is missing, or is no directory now, stands for all below it. */
static void mirror_ancestor(struct mirror *mirror, char *path) {
  const char *name;
  for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    char *prefix = prefix_of(path, (size_t)(slash - path));
    int fd = open_beneath(mirror->root.root, prefix, strlen(prefix));
    int error = errno;
    if (fd >= 0) {
      close(fd);
      free(prefix);
      continue;
    }
    int parent = anchor_parent(&mirror->root, prefix, &name);
    if (!is_no_directory(error))
      note_problem(copy_text(prefix), error, "the directory cannot be read");
    else if (parent >= 0)
      copy_entry(mirror, parent, name, prefix);
    free(mirror->missing);
    mirror->missing = prefix;
    return;
  }
  /* It came meanwhile, or it could not be opened a moment ago. */
  int parent = anchor_parent(&mirror->root, path, &name);
  if (parent >= 0)
    copy_entry(mirror, parent, name, path);
  else if (!is_no_directory(errno))
    note_problem(copy_text(path), errno, "it cannot be read");
}

/* Paths come sorted: those below one directory follow each other. */
static bool is_below_missing(const struct mirror *mirror, const char *path) {
  size_t length = mirror->missing == NULL ? 0 : strlen(mirror->missing);
  return length > 0 && strncmp(path, mirror->missing, length) == 0 && path[length] == '/';
}

static void set_directory_metadata(struct mirror *mirror) {
  while (mirror->made_count > 0) {
    struct made *made = &mirror->made[--mirror->made_count];
    int fd = open_beneath(mirror->into.root, made->path, strlen(made->path));
    int error = fd < 0 ? errno : store_metadata(fd, &made->status, made->status.st_mode & 07777, mirror->options);
    if (error != 0) fail(error, "set metadata", made->path);
    close(fd);
    free(made->path);
  }
}

int mirror_verb(const struct options *options) {
  struct mirror mirror = {.options = options};
  mirror.root.root = mirror.ancestors.root = open_named_root(options->root);
  mirror.layers.root = open_layers(&options->layers);
  struct layers shown = open_layers(&options->uppers); /* trees of the list are what these show */
  struct records records = expand_records(read_records(), false, &shown, NULL);
  struct stat status;
  if (mkdir(options->into, 0700) != 0) fail(errno, "create", options->into);
  mirror.into.root = open_named_root(options->into);
  for (char *path; (path = next_record(&records)) != NULL;) {
    if (is_top_path(path)) continue; /* its mode and owner are always taken, below */
    if (!is_plain_path(path)) fail(EINVAL, "mirror", path);
    if (is_below_missing(&mirror, path)) continue;
    working_on(path);
    const char *name;
    int parent = anchor_parent(&mirror.root, path, &name);
    if (parent >= 0)
      copy_entry(&mirror, parent, name, path);
    else
      mirror_ancestor(&mirror, path);
  }
  set_directory_metadata(&mirror);
  if (fstat(mirror.root.root, &status) != 0) fail(errno, "stat", options->root);
  int error = copy_user_attributes(mirror.root.root, mirror.into.root);
  if (error == 0) error = store_metadata(mirror.into.root, &status, status.st_mode & 07777, options);
  if (error != 0) fail(error, "set metadata", options->into);
  put_problems();
  return 0;
}
