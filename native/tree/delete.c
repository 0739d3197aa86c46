/*
 * delete: a whole tree of the store. An agent chose its depth and modes: directories below a fixed depth are moved up
 * to the top and emptied from there, so that a bounded number of fds is enough for any tree; modes are changed where
 * they forbid. A mount inside the tree is never entered.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 200

struct deletion {
  int top;
  bool moved;
  const char *root;
};

/* Through an fd of the very directory, since fchmodat would follow a link. */
static void grant(int parent, const char *name) {
  char path[64];
  int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  (void)!chmod(path, 0700);
  close(fd);
}

static int open_granted(int parent, const char *name) {
  int fd = open_same_mount(parent, name);
  if (fd >= 0 || errno != EACCES) return fd;
  grant(parent, name);
  return open_same_mount(parent, name);
}

/* Of a directory of the tree, which may be one that can be listed and not searched. */
static int open_inside(int parent, const char *name) {
  int fd = open_granted(parent, name);
  if (fd >= 0 || errno != EACCES) return fd;
  (void)!fchmod(parent, 0700);
  return open_granted(parent, name);
}

static int unlink_granted(int parent, const char *name, int flags) {
  if (unlinkat(parent, name, flags) == 0) return 0;
  if (errno != EACCES && errno != EPERM) return errno;
  int error = errno;
  (void)!fchmod(parent, 0700);
  return unlinkat(parent, name, flags) == 0 ? 0 : errno == EISDIR ? EISDIR : error;
}

static bool move_up(struct deletion *deletion, int parent, const char *name) {
  static unsigned counter;
  char fresh[64];
  for (int attempt = 0; attempt < 1000; attempt++) {
    snprintf(fresh, sizeof fresh, ".ctx-deep-%u", counter++);
    if (renameat2(parent, name, deletion->top, fresh, RENAME_NOREPLACE) == 0) return deletion->moved = true;
    if (errno == EACCES) {
      grant(parent, name); /* moving a directory writes its `..` */
      (void)!fchmod(parent, 0700);
    } else if (errno != EEXIST) {
      return false;
    }
  }
  return false;
}

static void empty(struct deletion *deletion, int fd, int depth);

static void remove_directory(struct deletion *deletion, int parent, const char *name, int depth) {
  if (depth >= DEPTH && move_up(deletion, parent, name)) return;
  int error = ENOTEMPTY;
  for (int attempt = 0; attempt < 3 && error == ENOTEMPTY; attempt++) {
    int fd = open_inside(parent, name);
    if (fd < 0 && errno == ENOENT) return;
    if (fd < 0) fail(errno == EXDEV ? EBUSY : errno, "delete", deletion->root);
    empty(deletion, fd, depth + 1);
    close(fd);
    error = unlink_granted(parent, name, AT_REMOVEDIR);
  }
  if (error != 0 && error != ENOENT) fail(error, "delete", deletion->root);
}

static void empty(struct deletion *deletion, int fd, int depth) {
  struct listing listing;
  int error = list_directory(fd, &listing);
  if (error != 0) fail(error, "list", deletion->root);
  for (size_t i = 0; i < listing.count; i++) {
    const char *name = listing.names[i].text;
    error = listing.names[i].type == DT_DIR ? EISDIR : unlink_granted(fd, name, 0);
    if (error == EISDIR)
      remove_directory(deletion, fd, name, depth);
    else if (error != 0 && error != ENOENT)
      fail(error, "delete", deletion->root);
  }
  free_listing(&listing);
}

int delete_verb(const struct options *options) {
  char *path = copy_text(options->root);
  for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--) path[length - 1] = '\0';
  char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  if (slash != NULL) *slash = '\0';
  if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) fail(EINVAL, "delete", options->root);
  int parent = open(slash == NULL ? "." : *path == '\0' ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0 && errno == ENOENT) return 0;
  if (parent < 0) fail(errno, "open", options->root);
  struct deletion deletion = {.root = options->root, .top = open_granted(parent, name)};
  if (deletion.top < 0 && errno == ENOENT) return 0;
  if (deletion.top < 0) fail(errno == EXDEV ? EBUSY : errno, "delete", options->root);
  do {
    deletion.moved = false;
    empty(&deletion, deletion.top, 0);
  } while (deletion.moved);
  close(deletion.top);
  int error = unlink_granted(parent, name, AT_REMOVEDIR);
  if (error != 0 && error != ENOENT) fail(error, "delete", options->root);
  return 0;
}
