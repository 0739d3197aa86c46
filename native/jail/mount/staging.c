#include "mount/staging.h"
#include "context.h"
#include "jail.h"
#include "mount/join.h"
#include "syscalls.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* On every host, and private to the staging namespace. */
static const char staging_place[] = "/proc";

static bool is_inside(const struct operation *operation, const struct plan *overlays) {
  const char *path =
      operation->code == OP_MASK || operation->code == OP_READ_ONLY ? operation->strings[0] : mount_target(operation);
  if (!path || operation->code == OP_OVERLAY || operation->code == OP_AGAIN) return false;
  for (uint32_t i = 0; i < overlays->count; i++)
    if (overlays->operations[i].code == OP_OVERLAY && contains(overlays->operations[i].strings[0], path)) return true;
  return false;
}

static void enter(int namespace) {
  if (setns(namespace, CLONE_NEWNS) != 0) fail("changing the mount namespace");
}

/* Without what is mounted below it, unless the kernel gives the one only with the other. */
static int clone_alone(int directory, const char *path) {
  const unsigned flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
  int tree = sys_open_tree(directory, "", flags);
  if (tree < 0 && errno == EINVAL) tree = sys_open_tree(directory, "", flags | AT_RECURSIVE);
  if (tree < 0) fail(path);
  return tree;
}

/* Directories of the host that later mounts are made of. */
struct needed {
  int directory;
  char *path;
};

struct needs {
  struct needed *list;
  size_t count;
};

static void need(struct needs *needs, const char *path) {
  struct needed *more = realloc(needs->list, (needs->count + 1) * sizeof *more);
  if (!more) fail(path);
  needs->list = more;
  struct needed *last = &more[needs->count++];
  *last = (struct needed){.directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), .path = strdup(path)};
  if (path[0] != '/' || last->directory < 0 || !last->path) fail(path);
}

/*
 * The directory that holds the source: a file is written anew by replacing it, and the next command is to see the new
 * one.
 */
static void need_parent(struct needs *needs, const char *source) {
  char parent[PATH_MAX];
  const char *slash = strrchr(source, '/');
  size_t length = slash ? (size_t)(slash - source) : 0;
  if (!slash || length >= sizeof parent) fail_with(EINVAL, source);
  memcpy(parent, source, length);
  parent[length] = 0;
  need(needs, length > 0 ? parent : "/");
}

/* A layer may be a link to the person's own directory: followed by path. */
static void need_linked_layers(struct needs *needs, const struct operation *overlay) {
  char *list = strdup(overlay->strings[1]), *rest = list;
  if (!list) fail("opening the layers");
  for (char *layer; (layer = strsep(&rest, ":"));) {
    char target[PATH_MAX];
    ssize_t length = readlink(layer, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = 0;
    need(needs, target);
  }
  free(list);
}

/* An outer directory first: it would cover what is shown inside it. */
static int by_length(const void *left, const void *right) {
  size_t a = strlen(((const struct needed *)left)->path), b = strlen(((const struct needed *)right)->path);
  return a < b ? -1 : a > b;
}

/* In the root that is being made; where it is there already, as a part of another, it stays. */
static void show(struct jail_context *jail, const struct needed *one) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
  struct stat wanted, there;
  if (fstat(one->directory, &wanted) != 0) fail(one->path);
  int found = one->path[1] ? sys_openat2(jail->root.descriptor, one->path + 1, &how) : -1;
  bool shown =
      found >= 0 && fstat(found, &there) == 0 && there.st_dev == wanted.st_dev && there.st_ino == wanted.st_ino;
  if (found >= 0) close(found);
  if (!shown) attach(jail, clone_alone(one->directory, one->path), one->path, true);
}

static void show_needed(struct jail_context *jail, const char *store) {
  const struct plan *plan = jail->plan;
  struct needs needs = {0};
  need(&needs, store);
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    if (operation->code == OP_OVERLAY)
      need_linked_layers(&needs, operation);
    else if (operation->code == OP_BIND && is_inside(operation, plan))
      need_parent(&needs, operation->strings[0]);
  }
  qsort(needs.list, needs.count, sizeof *needs.list, by_length);
  for (size_t i = 0; i < needs.count; i++) {
    show(jail, &needs.list[i]);
    close(needs.list[i].directory);
    free(needs.list[i].path);
  }
  free(needs.list);
}

/*
 * Of the host's files only those that a later mount needs: whatever else was mounted there would stay mounted, and its
 * disk busy, for as long as the jail is kept.
 */
static void leave_host_behind(struct jail_context *jail) {
  if (sys_mount("ctx-staging", staging_place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700,size=1m") != 0)
    fail("making the staging root");
  use_root(jail, open(staging_place, O_PATH | O_DIRECTORY | O_CLOEXEC));
  const struct operation *store = find(jail->plan, OP_BASE);
  if (jail->root.descriptor < 0 || !store || mkdirat(jail->root.descriptor, staging_place + 1, 0700) != 0)
    fail("making the staging root");
  show_needed(jail, store->strings[0]);
  if (fchdir(jail->root.descriptor) != 0 || sys_pivot_root(".", ".") != 0 || sys_umount2(".", MNT_DETACH) != 0 ||
      chdir("/") != 0)
    fail("entering the staging root");
  close(jail->root.descriptor);
  use_root(jail, -1);
  jail->staging.base = open(store->strings[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (jail->staging.base < 0) fail("opening the store");
}

void keep_staging(struct jail_context *jail) {
  make_mounts_private();
  jail->staging.jail = open_mount_namespace(jail);
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), store = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || store < 0) fail("opening the store");
  if (unshare(CLONE_NEWNS) != 0) fail("making the mount namespace");
  jail->staging.own = open_mount_namespace(jail);
  leave_host_behind(jail);
  /* Back, also where this process has another root than its namespace. */
  enter(jail->staging.jail);
  if (fchdir(root) != 0 || chroot(".") != 0 || fchdir(store) != 0) fail("opening the store");
  close(root);
  close(store);
}

/* The root of what is mounted there; -1 where it is a place without a mount. */
static int open_mounted(const char *target) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
  struct statx about;
  int root = sys_openat2(AT_FDCWD, target, &how);
  if (root < 0 || statx(root, "", AT_EMPTY_PATH, STATX_TYPE, &about) != 0) fail(target);
  if (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) return root;
  close(root);
  return -1;
}

/* Those of `overlays`, and what of them the jail shows at other places, too: an overlay stays mounted with the last. */
void keep_overlays(struct jail_context *jail, const struct plan *overlays) {
  const struct plan *plan = jail->plan;
  free(jail->staging.kept);
  jail->staging.kept = calloc((size_t)plan->count + overlays->count + 1, sizeof *jail->staging.kept);
  if (!jail->staging.kept) fail("keeping the overlays");
  /* The innermost first: it would go with what it is in. */
  for (uint32_t i = plan->count; i-- > 0;) {
    if (plan->operations[i].code != OP_AGAIN) continue;
    int root = open_mounted(plan->operations[i].strings[1]);
    if (root >= 0) jail->staging.kept[jail->staging.count++] = root;
  }
  for (uint32_t i = 0; i < overlays->count; i++) {
    if (overlays->operations[i].code != OP_OVERLAY) continue;
    const char *target = overlays->operations[i].strings[0];
    int root = open_mounted(target);
    if (root < 0) fail_with(EINVAL, target);
    jail->staging.kept[jail->staging.count++] = root;
  }
}

void release_kept_overlays(struct jail_context *jail) {
  for (uint32_t i = 0; i < jail->staging.count; i++) {
    detach_mount(jail, jail->staging.kept[i]);
    close(jail->staging.kept[i]);
  }
  jail->staging.count = 0;
}

/* A mount that was made in one namespace, on its way into the other. */
struct moving {
  int tree;
  bool directory;
};

static struct moving stage_overlay(struct jail_context *jail, const struct operation *overlay) {
  if (is_shared(overlay)) return (struct moving){.tree = take_by_taker(jail, overlay), .directory = true};
  mount_overlay_at(jail, staging_place, overlay);
  int tree = sys_open_tree(AT_FDCWD, staging_place, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), error = errno;
  /* Whatever the tree is: nothing stays there. */
  if (sys_umount2(staging_place, MNT_DETACH) != 0) fail("emptying the staging place");
  if (tree < 0) fail_with(error, overlay->strings[0]);
  return (struct moving){.tree = tree, .directory = true};
}

static struct moving stage_bind(struct jail_context *jail, const struct operation *bind) {
  struct moving moving;
  /* Not compared again: in the life of a kept jail a file may have been written anew by its owner. */
  moving.tree = clone_tree(jail, bind->strings[0], NULL, bind->flags, &moving.directory);
  return moving;
}

/* One mounting, as far as it came. */
struct mounting {
  struct jail_context *jail;
  const struct plan *overlays;
  struct moving *moved, *end; /* trees from the first that is not attached yet */
  uint32_t attached;          /* overlays that are */
};

static void attach_next(struct mounting *mounting, const char *path) {
  struct moving next = *mounting->moved;
  attach(mounting->jail, next.tree, path, next.directory);
  mounting->moved++;
}

static void stage_all(struct mounting *mounting) {
  struct jail_context *jail = mounting->jail;
  const struct plan *plan = mounting->jail->plan, *overlays = mounting->overlays;
  enter(jail->staging.own);
  if (fchdir(jail->staging.base) != 0) fail("opening the store");
  for (uint32_t i = 0; i < overlays->count; i++)
    if (overlays->operations[i].code == OP_OVERLAY) *mounting->end++ = stage_overlay(jail, &overlays->operations[i]);
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->operations[i].code == OP_BIND && is_inside(&plan->operations[i], overlays))
      *mounting->end++ = stage_bind(jail, &plan->operations[i]);
  enter(jail->staging.jail);
}

static void mount_all(void *context) {
  struct mounting *mounting = context;
  struct jail_context *jail = mounting->jail;
  const struct plan *plan = mounting->jail->plan, *overlays = mounting->overlays;
  stage_all(mounting);
  use_root(jail, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (jail->root.descriptor < 0) fail("/");
  for (uint32_t i = 0; i < overlays->count; i++) {
    if (overlays->operations[i].code != OP_OVERLAY) continue;
    attach_next(mounting, overlays->operations[i].strings[0]);
    mounting->attached++;
  }
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    if (!is_inside(operation, overlays)) continue;
    if (operation->code == OP_BIND)
      attach_next(mounting, operation->strings[1]);
    else
      execute(jail, operation, plan, -1);
  }
  /* Last: what is mounted inside may have needed a place made for it. */
  for (uint32_t i = 0; i < overlays->count; i++)
    if (overlays->operations[i].code == OP_READ_ONLY) execute(jail, &overlays->operations[i], overlays, -1);
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->operations[i].code == OP_AGAIN) execute(jail, &plan->operations[i], plan, -1);
  keep_overlays(jail, overlays);
}

/* Nothing runs inside, so that the paths are what the plan made of them. What lies inside an overlay goes with it. */
static void unmount_attached(const struct mounting *mounting) {
  const struct plan *plan = mounting->jail->plan, *overlays = mounting->overlays;
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->operations[i].code == OP_AGAIN) sys_umount2(plan->operations[i].strings[1], MNT_DETACH | UMOUNT_NOFOLLOW);
  uint32_t left = mounting->attached;
  for (uint32_t i = 0; i < overlays->count && left > 0; i++) {
    if (overlays->operations[i].code != OP_OVERLAY) continue;
    left--;
    /* One that lay in another went with that. */
    if (sys_umount2(overlays->operations[i].strings[0], MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL)
      fail("unmounting the fork");
  }
}

static void put_back(struct mounting *mounting) {
  struct jail_context *jail = mounting->jail;
  enter(jail->staging.jail);
  for (; mounting->moved < mounting->end; mounting->moved++) close(mounting->moved->tree);
  unmount_attached(mounting);
  for (uint32_t i = 0; i < jail->staging.count; i++) close(jail->staging.kept[i]);
  jail->staging.count = 0;
}

bool mount_overlays_again(struct jail_context *jail, const struct plan *overlays) {
  struct moving *all = calloc((size_t)overlays->count + jail->plan->count, sizeof *all);
  if (!all) {
    report_failure(errno, "mounting the fork");
    return false;
  }
  struct mounting mounting = {.jail = jail, .overlays = overlays, .moved = all, .end = all};
  const bool done = attempt(mount_all, &mounting);
  if (!done) put_back(&mounting);
  if (jail->root.descriptor >= 0) close(jail->root.descriptor);
  use_root(jail, -1);
  free(all);
  return done;
}

bool are_overlays_mounted(struct jail_context *jail) {
  return jail->staging.count > 0;
}
