/* Who the processes of a jail are, and what they may not do any more. */
#include "context.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Before the old root goes and before any user namespace: id maps are written through this, and name who we are
 * outside.
 */
void open_host_proc(struct jail_context *jail) {
  jail->host =
      (struct host){.processes = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), .uid = geteuid(), .gid = getegid()};
  if (jail->host.processes < 0) fail("/proc");
}

static bool try_write_proc(const struct jail_context *jail, pid_t pid, const char *file, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%d/%s", (int)pid, file);
  int descriptor = openat(jail->host.processes, path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0 || write(descriptor, text, strlen(text)) != (ssize_t)strlen(text)) return false;
  close(descriptor);
  return true;
}

static void write_proc(const struct jail_context *jail, pid_t pid, const char *file, const char *text) {
  if (!try_write_proc(jail, pid, file, text)) fail(file);
}

int open_mount_namespace(struct jail_context *jail) {
  int descriptor = openat(jail->host.processes, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("opening the mount namespace");
  return descriptor;
}

/* Through the descriptor: no path that somebody inside could bend is walked. */
void detach_mount(struct jail_context *jail, int root) {
  char path[64];
  snprintf(path, sizeof path, "self/fd/%d", root);
  if (fchdir(jail->host.processes) != 0 || sys_umount2(path, MNT_DETACH) != 0 || chdir("/") != 0)
    fail("unmounting the fork");
}

void map_self(struct jail_context *jail, uid_t uid, gid_t gid) {
  char text[64];
  /* An unprivileged process may write its gid map only after giving up setgroups. */
  write_proc(jail, getpid(), "setgroups", "deny");
  snprintf(text, sizeof text, "%u %u 1", uid, jail->host.uid);
  write_proc(jail, getpid(), "uid_map", text);
  snprintf(text, sizeof text, "%u %u 1", gid, jail->host.gid);
  write_proc(jail, getpid(), "gid_map", text);
}

/* No longer than the process that made it: it has the report's descriptor, and its reader waits for the last. */
static int wait_to_be_killed(void *parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != *(const pid_t *)parent) return 1;
  for (;;) pause();
}

static int open_mapped(const struct jail_context *jail, pid_t pid, const char *users, const char *groups) {
  char path[64];
  snprintf(path, sizeof path, "%d/ns/user", (int)pid);
  if (!try_write_proc(jail, pid, "uid_map", users) || !try_write_proc(jail, pid, "gid_map", groups)) return -1;
  return openat(jail->host.processes, path, O_RDONLY | O_CLOEXEC);
}

/*
 * A user namespace with these maps. A child is in it briefly; it lives on in the descriptor. The child shares our
 * memory, and needs none but a little stack: a copy would cost more than all the rest.
 */
static int make_namespace(struct jail_context *jail, const char *users, const char *groups) {
  static _Alignas(16) char stack[16384];
  pid_t parent = getpid();
  pid_t pid = clone(wait_to_be_killed, stack + sizeof stack, CLONE_VM | CLONE_NEWUSER | SIGCHLD, &parent);
  if (pid < 0) fail("making the user namespace");
  int namespace = open_mapped(jail, pid, users, groups), error = errno;
  kill(pid, SIGKILL);
  if (waitpid(pid, NULL, 0) != pid) fail("ending the first process of the user namespace");
  if (namespace < 0) fail_with(error, "mapping the user namespace");
  return namespace;
}

/*
 * The user namespace of every command of the jail; and binds that show the host's files as they are shown to root take
 * their maps from it.
 */
void make_namespace_of_shift(struct jail_context *jail, uint32_t shift, uint32_t count) {
  char text[64];
  snprintf(text, sizeof text, "0 %u %u", shift, count);
  jail->namespaces.shift = make_namespace(jail, text, text);
  jail->namespaces.root_inside = shift;
}

void make_namespace_of_owners(struct jail_context *jail, const char *users, const char *groups) {
  jail->namespaces.owners = make_namespace(jail, users, groups);
}

/* Outside, the command is who it would be without it: everything that is mounted for it stays as it is. */
void make_namespace_of_numbers(struct jail_context *jail, const char *users, const char *groups) {
  jail->namespaces.numbers = make_namespace(jail, users, groups);
}

/* Only root's jails have one. The groups go first: inside they could no longer be named. */
void enter_namespace_of_shift(struct jail_context *jail) {
  int own = jail->namespaces.numbers >= 0 ? jail->namespaces.numbers : jail->namespaces.shift;
  if (setgroups(0, NULL) != 0 || setns(own, CLONE_NEWUSER) != 0) fail("entering the user namespace");
}

/* In the command's own user namespace, while it may still choose them. */
void take_groups(char *const groups[]) {
  gid_t list[NGROUPS_MAX];
  size_t count = 0;
  for (; groups[count]; count++) {
    char *end;
    errno = 0;
    unsigned long long group = strtoull(groups[count], &end, 10);
    if (count == NGROUPS_MAX || errno || *end || groups[count][0] < '0' || groups[count][0] > '9' ||
        group >= UINT32_MAX)
      fail_with(EINVAL, "a group is not a number, or there are too many groups");
    list[count] = (gid_t)group;
  }
  if (setgroups(count, list) != 0) fail("taking the groups");
}

/* Every kernel that can make a jail has this one: an end of the list before it is no end. */
enum { CAP_LAST_OF_ALL_KERNELS = CAP_CHECKPOINT_RESTORE };

/*
 * The bounding set and the secure bits go first: taking another uid would lose the capability to drop them, and uid 0
 * would get every capability of its user namespace back at the next exec.
 */
static void lock_capabilities_away(void) {
  const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                             SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  int capability = 0;
  while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) capability++;
  if (errno != EINVAL || capability <= CAP_LAST_OF_ALL_KERNELS) fail("dropping a capability");
  if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0) fail("locking the capabilities away");
}

/* Keys of the person's session stay outside; a kernel without keyrings has none to leave. */
void leave_session_keyring(void) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS) fail("leaving the session's keys");
}

/* From here on the process is this user, without any capability, for good. */
void become(uid_t uid, gid_t gid) {
  lock_capabilities_away();
  if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) fail("taking the identity");
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  if (syscall(SYS_capset, &header, none) != 0) fail("dropping the capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("setting no_new_privs");
}

/* Everything started from here on is in it. */
void enter_control_group(const char *directory) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/cgroup.procs", directory) >= (int)sizeof path) fail_with(ENAMETOOLONG, directory);
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0 || write(descriptor, "0", 1) != 1) fail(directory);
  close(descriptor);
}
