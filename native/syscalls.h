/*
 * System calls that some C libraries have no function for, and the constants their headers lack. <sys/mount.h> is not
 * used at all: in glibc 2.36 it cannot be included beside <linux/mount.h>.
 */
#ifndef CTX_SYSCALLS_H
#define CTX_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every architecture (they came after the tables were unified). */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

#ifndef MNT_DETACH
#define MNT_DETACH 2
#define UMOUNT_NOFOLLOW 8
#endif

static inline int sys_mount(const char *source, const char *target, const char *type, unsigned long flags,
                            const void *data) {
  return (int)syscall(SYS_mount, source, target, type, flags, data);
}

static inline int sys_umount2(const char *target, int flags) {
  return (int)syscall(SYS_umount2, target, flags);
}

static inline int sys_open_tree(int at, const char *path, unsigned flags) {
  return (int)syscall(SYS_open_tree, at, path, flags);
}

static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path, unsigned flags) {
  return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int sys_fsopen(const char *type, unsigned flags) {
  return (int)syscall(SYS_fsopen, type, flags);
}

static inline int sys_fsconfig(int context, unsigned command, const char *key, const char *value) {
  return (int)syscall(SYS_fsconfig, context, command, key, value, 0);
}

static inline int sys_fsmount(int context, unsigned flags, unsigned attributes) {
  return (int)syscall(SYS_fsmount, context, flags, attributes);
}

static inline int sys_mount_setattr(int at, const char *path, unsigned flags, struct mount_attr *attributes) {
  return (int)syscall(SYS_mount_setattr, at, path, flags, attributes, sizeof *attributes);
}

/*
 * A detached copy of everything that is mounted at and below it, with these attributes. Before Linux 6.15 that takes
 * two calls.
 */
static inline int sys_clone_tree(int from, struct mount_attr *attributes) {
  const unsigned flags = AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
  int tree = (int)syscall(SYS_open_tree_attr, from, "", flags, attributes, sizeof *attributes);
  if (tree >= 0 || (errno != ENOSYS && errno != EPERM)) return tree;
  tree = sys_open_tree(from, "", flags);
  if (tree >= 0 && sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, attributes) == 0) return tree;
  if (tree >= 0) close(tree);
  return -1;
}

static inline int sys_openat2(int at, const char *path, struct open_how *how) {
  return (int)syscall(SYS_openat2, at, path, how, sizeof *how);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old) {
  return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static inline int sys_pidfd_open(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags) {
  return (int)syscall(SYS_close_range, first, last, flags);
}

#endif
