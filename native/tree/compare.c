/*
 * compare: is what the layers show at a path what the origin has there? Asked before anything is written over.
 * With --times a file that is the same but for its time is `touched`.
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>

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
  return same_content(found->directory, layer, parent, status, name, name);
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

int compare_verb(const struct options *options) {
  struct resolver layers = {.root = open_layers(&options->layers)};
  struct anchor root = {.root = open_named_root(options->to), .reads = true};
  struct records records = read_records();
  for (const char *path; (path = next_record(&records)) != NULL;) {
    if (!is_plain_path(path) && !is_top_path(path)) fail(EINVAL, "compare", path);
    working_on(path);
    const char *result = verdict(&layers, &root, path, options);
    put_field(path);
    put_field(result);
  }
  return 0;
}
