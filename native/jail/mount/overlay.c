/*
 * The workspace: a kernel overlay of frozen layers and the fork's own delta.
 *
 * One plain profile, always: with index, metacopy or redirect_dir a layer would not describe itself, and a store
 * written with trusted.* attributes and mounted with user.* ones would resurrect deleted files. `volatile` spares the
 * sync of the whole upper filesystem at every unmount; the store syncs at its durable points instead.
 */
#include "context.h"
#include "jail.h"
#include "mount/join.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char overlay_profile[] = "userxattr,index=off,redirect_dir=nofollow,metacopy=off,volatile";

/* Mounted by path here, where no agent ever wrote, then moved to its place by descriptor. */
static const char staging_path[] = "/proc/.overlay", staging_name[] = ".overlay";

/*
 * `volatile` leaves a marker that refuses the next mount; it is taken away before each one. The lock on the fork says
 * that no other jail is using it.
 */
void clear_volatile_marker(const char *work) {
  static const struct {
    const char *name;
    int flags;
  } marker[] = {
      {"work/incompat/volatile/dirty", 0}, {"work/incompat/volatile", AT_REMOVEDIR}, {"work/incompat", AT_REMOVEDIR}};
  int directory = open(work, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) fail(work);
  for (size_t i = 0; i < sizeof marker / sizeof *marker; i++)
    if (unlinkat(directory, marker[i].name, marker[i].flags) != 0 && errno != ENOENT) fail(work);
  close(directory);
}

/*
 * The kernel makes what it needs there without any rights, and itself needs none. A process that copies or deletes the
 * store without being root does.
 */
void open_work_directories(const char *work) {
  static const char *const names[] = {"work", "work/incompat", "work/incompat/volatile",
                                      "work/incompat/volatile/dirty"};
  int directory = open(work, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) fail(work);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (fchmodat(directory, names[i], 0700, 0) != 0 && errno != ENOENT) fail(work);
  close(directory);
}

/*
 * Where the plan wants owners exchanged, layers are found in the base directory once more, mounted on itself with the
 * maps of OP_OWNERS. By descriptor, so that it needs no name. Returns where this process was before.
 */
static int enter_exchanged_base(struct jail_context *jail) {
  int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int tree = sys_open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (before < 0 || tree < 0) fail("opening the layers");
  exchange_owners(jail, tree);
  if (sys_move_mount(tree, "", before, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0 || fchdir(tree) != 0)
    fail("opening the layers");
  close(tree);
  return before;
}

/* The overlay keeps mounts of its own. */
static void leave_exchanged_base(int before) {
  if (sys_umount2(".", MNT_DETACH) != 0 || fchdir(before) != 0) fail("closing the layers");
  close(before);
}

/*
 * At `place`, a path; layers are named relative to where this process is. Where that fails nothing of it stays mounted.
 */
void mount_overlay_at(struct jail_context *jail, const char *place, const struct operation *overlay) {
  char **s = overlay->strings;
  char options[4096];
  if (snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s,%s", s[1], s[2], s[3], overlay_profile) >=
      (int)sizeof options)
    fail_with(E2BIG, "too many layers for one overlay");
  clear_volatile_marker(s[3]);
  const bool exchanged = overlay->flags & PLAN_ATTR_OWNERS;
  const int before = exchanged ? enter_exchanged_base(jail) : -1;
  int error = sys_mount("ctx-fork", place, "overlay", 0, options) == 0 ? 0 : errno;
  if (exchanged) leave_exchanged_base(before);
  if (error) fail_with(error, s[0]);
  open_work_directories(s[3]);
  struct mount_attr set = {.attr_set = overlay->flags & ~PLAN_ATTR_OWNERS};
  if (!set.attr_set || sys_mount_setattr(AT_FDCWD, place, 0, &set) == 0) return;
  error = errno;
  sys_umount2(place, MNT_DETACH);
  fail_with(error, s[0]);
}

void mount_overlay(struct jail_context *jail, const struct operation *overlay) {
  const char *target = overlay->strings[0];
  if (is_shared(overlay)) return attach(jail, overlay->taken, target, true);
  if (mkdirat(jail->root.descriptor, staging_name, 0700) != 0) fail("making the overlay's staging place");
  mount_overlay_at(jail, staging_path, overlay);
  int tree = openat(jail->root.descriptor, staging_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (tree < 0) fail(target);
  attach(jail, tree, target, true);
  if (unlinkat(jail->root.descriptor, staging_name, AT_REMOVEDIR) != 0) fail("removing the overlay's staging place");
}

const char *mount_target(const struct operation *operation) {
  switch (operation->code) {
  case OP_TMPFS:
  case OP_OVERLAY:
  case OP_CACHE:
    return operation->strings[0];
  case OP_BIND:
  case OP_AGAIN:
    return operation->strings[1];
  default:
    return NULL;
  }
}

/*
 * Takes the overlays down before this process ends, so that its end means: unmounted. Otherwise the kernel drops them
 * some time later, and a second mount of the same upper directory meanwhile is undefined. The outermost mount that
 * holds the overlay is detached whole: its path lies in the read-only root, where no agent can have put a symlink.
 */
void release_overlays(const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const enum code code = plan->operations[i].code;
    if (code != OP_OVERLAY && code != OP_CACHE && code != OP_AGAIN) continue;
    const char *outermost = mount_target(&plan->operations[i]);
    for (uint32_t j = 0; j < plan->count; j++) {
      const char *other = mount_target(&plan->operations[j]);
      if (other && strlen(other) < strlen(outermost) && contains(other, outermost)) outermost = other;
    }
    /* Already gone when two overlays share it: then there is nothing left to do. */
    sys_umount2(outermost, MNT_DETACH | UMOUNT_NOFOLLOW);
  }
}
