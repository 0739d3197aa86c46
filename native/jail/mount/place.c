/*
 * Places inside the new root. A target may lie in a tree that an agent wrote before (its private home), so every step
 * is one openat without following a symlink: what is planted there makes the launch fail, never lead elsewhere.
 */
#include "context.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool contains(const char *outer, const char *inner) {
  size_t length = strlen(outer);
  return strncmp(outer, inner, length) == 0 && (inner[length] == '/' || inner[length] == 0);
}

static void forget_parent(struct jail_context *jail) {
  if (jail->root.last.descriptor >= 0) close(jail->root.last.descriptor);
  jail->root.last.descriptor = -1;
}

void use_root(struct jail_context *jail, int descriptor) {
  forget_parent(jail);
  jail->root.descriptor = descriptor;
}

/* What was under it then is not what is there now. */
void mounted_at(struct jail_context *jail, const char *path) {
  if (jail->root.last.descriptor >= 0 && contains(path, jail->root.last.path)) forget_parent(jail);
}

static bool is_dots(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One call where the directory is there already, which it is for all but the first place in it. */
static int open_directory(struct jail_context *jail, const char *path, size_t length) {
  char directory[PATH_MAX];
  if (length >= sizeof directory) fail_with(ENAMETOOLONG, path);
  memcpy(directory, path, length);
  directory[length] = 0;
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
  return sys_openat2(jail->root.descriptor, directory, &how);
}

/*
 * In root's jails, what is made belongs to the owner of the directory it is made in: in a private home to the command,
 * in the new root to the root inside. Left to the user who makes it, it would be no one's inside. `made` is on the
 * mount of its parent, whatever took its name since, and a link is not followed. A filesystem without owners keeps its
 * own.
 */
void give_to_owner_of(struct jail_context *jail, int parent, const char *made, const char *path) {
  struct stat about;
  if (jail->namespaces.shift < 0) return;
  if (fstat(parent, &about) != 0 || (fchownat(parent, made, about.st_uid, about.st_gid, AT_SYMLINK_NOFOLLOW) != 0 &&
                                     errno != EPERM && errno != EINVAL))
    fail(path);
}

/* Component by component, making what is missing. */
static int make_directories(struct jail_context *jail, const char *path, size_t length) {
  int at = fcntl(jail->root.descriptor, F_DUPFD_CLOEXEC, 0);
  if (at < 0) fail(path);
  for (const char *start = path, *end = path + length; start < end;) {
    char component[NAME_MAX + 1];
    const char *slash = memchr(start, '/', (size_t)(end - start));
    size_t size = (size_t)((slash ? slash : end) - start);
    if (size == 0 || size > NAME_MAX) fail_with(EINVAL, path);
    memcpy(component, start, size);
    component[size] = 0;
    if (is_dots(component)) fail_with(EINVAL, path);
    if (mkdirat(at, component, 0755) == 0)
      give_to_owner_of(jail, at, component, path);
    else if (errno != EEXIST && errno != EROFS)
      fail(path);
    int next = openat(at, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) fail(path);
    close(at);
    at = next;
    start += size + 1;
  }
  return at;
}

/*
 * The directory `path` lies in, made where it is missing; `name` is then the last component. Not to be closed, and good
 * until the next call.
 */
int find_parent(struct jail_context *jail, const char *path, const char **name) {
  const char *slash = strrchr(path, '/');
  if (path[0] != '/' || !slash[1] || is_dots(slash + 1)) fail_with(EINVAL, path);
  *name = slash + 1;
  size_t length = (size_t)(slash - path);
  if (length == 0) return jail->root.descriptor;
  struct parent *last = &jail->root.last;
  if (last->descriptor >= 0 && last->length == length && memcmp(last->path, path, length) == 0) return last->descriptor;
  forget_parent(jail);
  int parent = open_directory(jail, path + 1, length - 1);
  if (parent < 0 && errno == ENOENT) parent = make_directories(jail, path + 1, length - 1);
  if (parent < 0) fail(path);
  memcpy(last->path, path, length);
  last->path[length] = 0;
  last->length = length;
  last->descriptor = parent;
  return parent;
}

/*
 * To make it first costs less than to look for it: most places are not there yet. What is made here is nobody else's.
 */
static void make_place(struct jail_context *jail, int parent, const char *name, bool directory, const char *path) {
  if ((directory ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0)) == 0)
    return give_to_owner_of(jail, parent, name, path);
  struct stat about;
  if ((errno != EEXIST && errno != EROFS) || fstatat(parent, name, &about, AT_SYMLINK_NOFOLLOW) != 0) fail(path);
  if (S_ISLNK(about.st_mode)) fail_with(ELOOP, path);
  if (S_ISDIR(about.st_mode) != directory) fail_with(ENOTDIR, path);
}

int find_place(struct jail_context *jail, const char *path, bool directory, const char **name) {
  *name = "";
  if (strcmp(path, "/") == 0) return jail->root.descriptor;
  int parent = find_parent(jail, path, name);
  make_place(jail, parent, *name, directory, path);
  return parent;
}
