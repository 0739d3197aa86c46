/*
 * A clone of an overlay that another process has mounted, in a mount namespace of its own. That process is not asked:
 * whoever may look at it enters its namespaces in a child, which takes the clone and ends. The mount is found by its
 * upper directory, whose name is never used twice, and not by its path alone.
 *
 * Where the other process is in a user namespace of its own, only a process outside of it may enter.
 */
#ifndef CTX_LIVE_MOUNT_H
#define CTX_LIVE_MOUNT_H

#include "handover.h"
#include "syscalls.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif

struct live_mount {
  const char *target, *upper; /* as it was mounted: relative to the vault's directory */
  uint32_t attributes;        /* that the clone gets; what is read-only or cannot be executed is each jail's business */
};

static inline bool is_overlay_of(const char *line, const char *upper) {
  char option[PATH_MAX];
  /* Of the whole, not of a part that is mounted once more, read-only. */
  if (!strstr(line, " / /") || !strstr(line, " - overlay ctx-")) return false;
  snprintf(option, sizeof option, ",upperdir=%s,", upper);
  return strstr(line, option) != NULL;
}

/* The number of the mount in that process's namespace; 0 where there is none. `proc` is a descriptor of /proc. */
static inline uint64_t live_mount_number(int proc, pid_t holder, const char *upper) {
  char path[64];
  snprintf(path, sizeof path, "%d/mountinfo", (int)holder);
  int descriptor = openat(proc, path, O_RDONLY | O_CLOEXEC);
  FILE *mounts = descriptor < 0 ? NULL : fdopen(descriptor, "r");
  char *line = NULL;
  size_t size = 0;
  uint64_t number = 0;
  while (mounts && number == 0 && getline(&line, &size, mounts) >= 0)
    if (is_overlay_of(line, upper)) number = strtoull(line, NULL, 10);
  free(line);
  if (mounts) fclose(mounts);
  return number;
}

static inline bool is_of_own_users(int proc, pid_t holder) {
  char path[64];
  struct stat own, other;
  snprintf(path, sizeof path, "%d/ns/user", (int)holder);
  return fstatat(proc, "self/ns/user", &own, 0) == 0 && fstatat(proc, path, &other, 0) == 0 &&
         own.st_ino == other.st_ino;
}

/* In a process that ends with it: its namespaces are the holder's then. */
static inline int clone_in_place(int proc, pid_t holder, const struct live_mount *wanted) {
  const uint64_t number = live_mount_number(proc, holder, wanted->upper);
  const int process = sys_pidfd_open(holder);
  const int users = is_of_own_users(proc, holder) ? 0 : CLONE_NEWUSER;
  if (number == 0 || process < 0 || setns(process, users | CLONE_NEWNS) != 0) return -1;
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                         .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  int found = sys_openat2(AT_FDCWD, wanted->target, &how);
  struct statx about;
  if (found < 0 || statx(found, "", AT_EMPTY_PATH, STATX_MNT_ID, &about) != 0 || about.stx_mnt_id != number) return -1;
  int tree = sys_open_tree(found, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  struct mount_attr set = {.attr_set = wanted->attributes, .attr_clr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC};
  if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &set) != 0) return -1;
  return tree;
}

/* -1 where that holder has none, whatever went wrong in the other process. */
static inline int clone_live_mount(int proc, pid_t holder, const struct live_mount *wanted) {
  int channel[2];
  if (live_mount_number(proc, holder, wanted->upper) == 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
    return -1;
  pid_t pid = fork();
  if (pid == 0) {
    int tree = clone_in_place(proc, holder, wanted);
    if (tree >= 0) hand_over(channel[1], "", 1, tree);
    _exit(0);
  }
  close(channel[1]);
  int tree = pid < 0 ? -1 : receive_descriptor(channel[0]);
  close(channel[0]);
  if (pid > 0) waitpid(pid, NULL, 0);
  return tree;
}

#endif
