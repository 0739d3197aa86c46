/*
 * `jail probe DIRECTORY`: tries what a jail needs, each in a child of its own, and prints "NAME ERRNO" (0: it works) or
 * "NAME VALUE". DIRECTORY lies in the store and holds empty directories lower, upper, work and merged.
 */
#include "context.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

static const int all_namespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

static struct jail_context probed = EMPTY_CONTEXT;

static bool is_root(void) {
  return geteuid() == 0;
}

/* Root's jails make everything but the user namespace as real root. */
static int enter(int flags) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(flags | (is_root() ? 0 : CLONE_NEWUSER)) != 0) return errno;
  if (uid != 0) map_self(&probed, uid, gid);
  struct mount_attr private = {.propagation = MS_PRIVATE};
  if ((flags & CLONE_NEWNS) && sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private) != 0) return errno;
  return 0;
}

static int try_user_namespace(const char *directory) {
  (void)directory;
  return unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
}

static int try_namespaces(const char *directory) {
  (void)directory;
  return enter(all_namespaces);
}

static int try_overlay(const char *directory) {
  int entered = chdir(directory) == 0 ? enter(CLONE_NEWNS) : errno;
  if (entered) return entered;
  const char *options =
      "lowerdir=lower,upperdir=upper,workdir=work,userxattr,index=off,redirect_dir=nofollow,metacopy=off,volatile";
  return sys_mount("ctx-probe", "merged", "overlay", 0, options) == 0 ? 0 : errno;
}

static int try_proc(const char *directory) {
  (void)directory;
  int entered = enter(CLONE_NEWNS | CLONE_NEWPID);
  if (entered) return entered;
  pid_t pid = fork();
  if (pid == 0) _exit(sys_mount("ctx-probe", "/proc", "proc", 0, NULL) == 0 ? 0 : errno);
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

/* What gives a fork to an agent's own uid; only root's jails do that. */
static int try_owners(const char *directory) {
  if (!is_root()) return 0;
  int tree = sys_open_tree(AT_FDCWD, directory, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) return errno;
  make_namespace_of_shift(&probed, 1 << 16, 1 << 16);
  struct mount_attr owners = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)probed.namespaces.shift};
  return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &owners) == 0 ? 0 : errno;
}

static int try_seccomp(const char *directory) {
  (void)directory;
  unsigned action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ? 0 : errno;
}

static const struct {
  const char *name;
  int (*attempt)(const char *directory);
} attempts[] = {
    {"user-namespace", try_user_namespace},
    {"namespaces", try_namespaces},
    {"overlay", try_overlay},
    {"proc", try_proc},
    {"seccomp", try_seccomp},
    {"owners", try_owners},
};

int probe(const char *directory) {
  open_host_proc(&probed);
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(attempts[i].attempt(directory));
    int status;
    bool told = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    printf("%s %d\n", attempts[i].name, told ? WEXITSTATUS(status) : EIO);
  }
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* version */);
  printf("landlock %ld\n", abi > 0 ? abi : 0);
  return 0;
}
