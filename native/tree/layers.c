/*
 * Overlay's on-disk format (profile userxattr, index=off, redirect_dir=nofollow, metacopy=off): what a stack of layers
 * shows at a path. The same rules as the kernel's lookup:
 *   - a whiteout (character device 0:0; or, in a directory marked opaque "x", an empty file with the whiteout mark)
 *     ends the search: nothing is there;
 *   - a non-directory ends it: it is the entry, or, under directories found above it, it hides what is below;
 *   - a directory goes on to the next layer, unless it is opaque "y".
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OPAQUE "user.overlay.opaque"
#define WHITEOUT "user.overlay.whiteout"

bool past_closed_directories;

static char opaque_mark(int directory) {
  char value[2];
  return fgetxattr(directory, OPAQUE, value, sizeof value) == 1 ? value[0] : '\0';
}

static bool is_whiteout(int directory, const char *name, const struct stat *status) {
  if (S_ISCHR(status->st_mode)) return status->st_rdev == makedev(0, 0);
  if (!S_ISREG(status->st_mode) || status->st_size != 0 || opaque_mark(directory) != 'x') return false;
  struct stat opened;
  int fd = open_regular(directory, name, &opened);
  if (fd < 0) return false;
  bool marked = fgetxattr(fd, WHITEOUT, NULL, 0) >= 0;
  close(fd);
  return marked;
}

struct layers open_layers(const struct strings *paths) {
  struct layers layers = {.fds = allocate(paths->count * sizeof(int))};
  for (size_t i = 0; i < paths->count; i++) layers.fds[layers.count++] = open_named_root(paths->items[i]);
  return layers;
}

void close_layers(struct layers *layers) {
  for (size_t i = 0; i < layers->count; i++) close(layers->fds[i]);
  free(layers->fds);
  *layers = (struct layers){0};
}

void look_up(const struct layers *layers, const char *name, struct found *found, struct layers *children) {
  *found = (struct found){.state = FOUND_NOTHING};
  if (children != NULL) *children = (struct layers){.stopped = layers->stopped};
  bool stopped = false;
  for (size_t i = 0; i < layers->count && !stopped; i++) {
    struct stat status;
    if (fstatat(layers->fds[i], name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
      if (errno == ENOENT) continue;
      fail_here(errno, "stat");
    }
    bool whiteout = is_whiteout(layers->fds[i], name, &status);
    bool directory = S_ISDIR(status.st_mode);
    stopped = whiteout || !directory;
    if (found->state == FOUND_NOTHING) {
      found->state = whiteout ? FOUND_WHITEOUT : FOUND_ENTRY;
      found->status = status;
      found->directory = layers->fds[i];
      if (directory && children == NULL) return;
    }
    if (!directory || children == NULL) continue;
    int fd = open_directory(layers->fds[i], name);
    if (fd < 0 && past_closed_directories && (errno == EACCES || errno == EPERM)) continue;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
      /* Of a layer that is being written: as if it had gone before it was looked at. */
      if (found->directory == layers->fds[i]) *found = (struct found){.state = FOUND_NOTHING};
      continue;
    }
    if (fd < 0) fail_here(errno, "open");
    if (children->fds == NULL) children->fds = allocate((layers->count - i) * sizeof(int));
    children->fds[children->count++] = fd;
    stopped = opaque_mark(fd) == 'y';
  }
  if (children != NULL && stopped) children->stopped = true;
}

void merge_listings(struct listing *into, struct listing *other) {
  if (other->count == 0) {
    free_listing(other);
    return;
  }
  if (into->count == 0) {
    free_listing(into);
    *into = *other;
    return;
  }
  struct buffer storage = {0};
  size_t *offsets = allocate((into->count + other->count) * sizeof *offsets);
  size_t count = 0;
  for (size_t i = 0, j = 0; i < into->count || j < other->count; count++) {
    int order = i == into->count ? 1 : j == other->count ? -1 : strcmp(into->names[i].text, other->names[j].text);
    const char *text = order <= 0 ? into->names[i].text : other->names[j].text;
    offsets[count] = storage.length;
    append(&storage, text, strlen(text) + 1);
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  free_listing(into);
  free_listing(other);
  into->storage = storage.data;
  into->count = count;
  into->names = allocate(count * sizeof *into->names);
  for (size_t i = 0; i < count; i++) into->names[i].text = storage.data + offsets[i];
  free(offsets);
}

void list_layers(const struct layers *layers, struct listing *listing) {
  *listing = (struct listing){0};
  for (size_t i = 0; i < layers->count; i++) {
    struct listing one;
    int error = list_directory(layers->fds[i], &one);
    if (error != 0) fail_here(error, "list");
    merge_listings(listing, &one);
  }
}

static void forget_parent(struct resolver *resolver) {
  if (resolver->parent_path != NULL) close_layers(&resolver->parent);
  free(resolver->parent_path);
  resolver->parent_path = NULL;
}

static void descend(struct resolver *resolver, const char *path, size_t length) {
  /* From the parent of the path before, where this one goes on below it. */
  bool owned = resolver->parent_path != NULL && resolver->parent_length < length &&
               memcmp(resolver->parent_path, path, resolver->parent_length) == 0 &&
               path[resolver->parent_length] == '/';
  struct layers at = owned ? resolver->parent : resolver->root;
  size_t known = owned ? resolver->parent_length + 1 : 0;
  if (!owned) forget_parent(resolver);
  free(resolver->parent_path);
  char *copy = allocate(length + 1);
  memcpy(copy, path, length);
  for (char *rest = copy + known; rest != NULL;) {
    char *name = strsep(&rest, "/");
    struct found found;
    struct layers children;
    look_up(&at, name, &found, &children);
    if (owned) close_layers(&at);
    at = children;
    owned = true;
  }
  memcpy(copy, path, length); /* strsep cut it up */
  resolver->parent = at;
  resolver->parent_path = copy;
  resolver->parent_length = length;
}

void resolve(struct resolver *resolver, const char *path, struct found *found) {
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  if (length == 0) {
    look_up(&resolver->root, path, found, NULL);
    return;
  }
  bool known = resolver->parent_path != NULL && resolver->parent_length == length &&
               memcmp(resolver->parent_path, path, length) == 0;
  if (!known) descend(resolver, path, length);
  look_up(&resolver->parent, slash + 1, found, NULL);
}
