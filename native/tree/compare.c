/*
 * compare: is what the layers show at a path what the origin has there? Asked before anything is written over.
 * With --times a file that is the same but for its time is `touched`. With --differing what is the same is not told.
 * Of a tree (`D/`) all that either side has in it is compared.
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Import drops setuid and setgid, apply the sticky bit too: on files they are never a difference. */
static mode_t compared_mode(mode_t mode) {
  return S_ISREG(mode) ? mode & ~(mode_t)07000 : mode;
}

static bool is_same(const char *name, const struct found *found, int parent, const struct stat *status,
                    const struct options *options) {
  const struct stat *layer = &found->status;
  if ((layer->st_mode & S_IFMT) != (status->st_mode & S_IFMT)) return false;
  mode_t shown = compared_mode(layer->st_mode), there = compared_mode(status->st_mode);
  bool narrowed = options->undoes && is_narrowed(shown, there);
  if (!S_ISLNK(shown) && shown != there && !narrowed) return false;
  if (options->privileged &&
      (layer->st_uid != status->st_uid + options->shift || layer->st_gid != status->st_gid + options->shift))
    return false;
  return same_content(found->directory, layer, parent, status, name, name) &&
         same_attributes(found->directory, name, parent, name);
}

static const char *top_verdict(const struct resolver *layers, const struct anchor *root,
                               const struct options *options) {
  struct stat layer, status;
  if (fstat(layers->root.fds[0], &layer) != 0 || fstat(root->root, &status) != 0) fail(errno, "stat", ".");
  status.st_uid = options->privileged ? status.st_uid + options->shift : layer.st_uid;
  status.st_gid = options->privileged ? status.st_gid + options->shift : layer.st_gid;
  return same_top(&layer, &status) ? "same" : "different";
}

static const char *verdict(struct resolver *layers, struct anchor *root, const char *path,
                           const struct options *options) {
  const char *name;
  struct stat status;
  struct found found;
  if (is_top_path(path)) return top_verdict(layers, root, options);
  int parent = anchor_parent(root, path, &name);
  bool in_root = parent >= 0 && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0;
  if (!in_root && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) fail(errno, "stat", path);
  resolve(layers, path, &found);
  bool in_layers = found.state == FOUND_ENTRY;
  if (!in_root) return in_layers ? "only-layers" : "same";
  if (!in_layers) return "only-root";
  if (!is_same(name, &found, parent, &status, options)) return "different";
  bool timed = options->times && S_ISREG(status.st_mode);
  return timed && nanoseconds(status.st_mtim) != nanoseconds(found.status.st_mtim) ? "touched" : "same";
}

static void put_verdict(struct resolver *layers, struct anchor *root, const char *path, const struct options *options) {
  working_on(path);
  const char *result = verdict(layers, root, path, options);
  if (options->differing && strcmp(result, "same") == 0) return;
  put_field(path);
  put_field(result);
}

struct sides {
  struct resolver *layers;
  struct anchor *root;
  const struct options *options;
  struct buffer path; /* of the entry at hand, NUL-terminated, length without the NUL */
};

/* What the root has there: nothing where it is none that can be read, which is a difference of its own. */
static void list_root(struct sides *sides, struct listing *names) {
  *names = (struct listing){0};
  int fd = open_beneath(sides->root->root, sides->path.data, sides->path.length);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;
  int error = fd < 0 ? errno : list_directory(fd, names);
  if (fd >= 0) close(fd);
  if (error == 0) return;
  if (error != EACCES && error != EPERM) fail(error, "list", sides->path.data);
  put_field(sides->path.data);
  put_field("different");
}

/* A whole tree: what the layers show in it, and what else the root has there. */
static void compare_tree(struct sides *sides, const struct layers *parent, const char *name) {
  struct found found;
  struct layers children;
  struct listing names, there;
  put_verdict(sides->layers, sides->root, sides->path.data, sides->options);
  look_up(parent, name, &found, &children);
  list_layers(&children, &names);
  list_root(sides, &there);
  merge_listings(&names, &there);
  size_t prefix = sides->path.length;
  for (size_t i = 0; i < names.count; i++) {
    append(&sides->path, "/", 1);
    append(&sides->path, names.names[i].text, strlen(names.names[i].text) + 1);
    sides->path.length--;
    compare_tree(sides, &children, names.names[i].text);
    sides->path.length = prefix;
    sides->path.data[prefix] = '\0';
  }
  free_listing(&names);
  close_layers(&children);
}

/* The stack's directories that hold `path`, to be closed. */
static struct layers layers_above(const struct layers *stack, char *path) {
  struct layers at = {0};
  bool owned = false;
  for (char *slash = strchr(path, '/'), *from = path; slash != NULL; slash = strchr(from, '/')) {
    struct found found;
    struct layers children;
    *slash = '\0';
    look_up(owned ? &at : stack, from, &found, &children);
    *slash = '/';
    if (owned) close_layers(&at);
    at = children;
    owned = true;
    from = slash + 1;
  }
  return at;
}

static void compare_whole(struct resolver *layers, struct anchor *root, const char *path,
                          const struct options *options) {
  struct sides sides = {layers, root, options, {0}};
  append(&sides.path, path, strlen(path)); /* with a NUL for its slash */
  sides.path.data[--sides.path.length] = '\0';
  if (!is_plain_path(sides.path.data) || is_top_path(sides.path.data)) fail(EINVAL, "compare", path);
  char *text = copy_text(sides.path.data), *slash = strrchr(text, '/');
  struct layers above = layers_above(&layers->root, text);
  compare_tree(&sides, slash == NULL ? &layers->root : &above, slash == NULL ? text : slash + 1);
  close_layers(&above);
  working_on("");
  free(text);
  free(sides.path.data);
}

int compare_verb(const struct options *options) {
  struct resolver layers = {.root = open_layers(&options->layers)};
  struct anchor root = {.root = open_named_root(options->to), .reads = true};
  struct records records = read_records();
  for (const char *path; (path = next_record(&records)) != NULL;) {
    if (is_tree_path(path)) {
      compare_whole(&layers, &root, path, options);
      continue;
    }
    if (!is_plain_path(path) && !is_top_path(path)) fail(EINVAL, "compare", path);
    put_verdict(&layers, &root, path, options);
  }
  return 0;
}
