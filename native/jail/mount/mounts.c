/* The mounts of the new root, by the mount API that works on descriptors. */
#include "context.h"
#include "descriptor.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The new root is built on top of /proc: it is there on every host, and no source of a bind lies in it. */
static const char *const staging = "/proc";

void make_mounts_private(void) {
  struct mount_attr private = {.propagation = MS_PRIVATE};
  if (sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private) != 0) fail("making the mounts private");
}

void make_root(struct jail_context *jail, uint64_t size) {
  make_mounts_private();
  char options[96];
  int length = snprintf(options, sizeof options, "mode=0755,size=%llu", (unsigned long long)size);
  if (jail->namespaces.shift >= 0)
    snprintf(options + length, sizeof options - (size_t)length, ",uid=%u,gid=%u", jail->namespaces.root_inside,
             jail->namespaces.root_inside);
  if (sys_mount("ctx-root", staging, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) fail("mounting the root");
  use_root(jail, open(staging, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (jail->root.descriptor < 0) fail("opening the root");
}

void make_directory(struct jail_context *jail, const char *path, mode_t mode) {
  const char *name;
  int parent = find_place(jail, path, true, &name);
  if (fchmodat(parent, name, mode, 0) != 0) fail(path);
}

void make_file(struct jail_context *jail, const char *path, const char *content, mode_t mode) {
  const char *name;
  int parent = find_parent(jail, path, &name);
  int file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0) fail(path);
  size_t length = strlen(content);
  /* The mask takes from others, and only what they may not have here: to write. */
  if (write(file, content, length) != (ssize_t)length || (mode & 0022 && fchmod(file, mode) != 0)) fail(path);
  close(file);
  give_to_owner_of(jail, parent, name, path);
}

void make_symlink(struct jail_context *jail, const char *path, const char *target) {
  const char *name;
  int parent = find_parent(jail, path, &name);
  if (symlinkat(target, parent, name) == 0)
    give_to_owner_of(jail, parent, name, path);
  else if (errno != EEXIST)
    fail(path);
}

/* Puts the detached mount on its place. A link that took this place since it was looked at is not followed. */
void attach(struct jail_context *jail, int tree, const char *path, bool directory) {
  const char *name;
  int parent = find_place(jail, path, directory, &name);
  if (sys_move_mount(tree, "", parent, name, MOVE_MOUNT_F_EMPTY_PATH | (*name ? 0 : MOVE_MOUNT_T_EMPTY_PATH)) != 0)
    fail(path);
  mounted_at(jail, path);
  close(tree);
}

static int new_filesystem(const char *type, const char *const options[][2], uint32_t attributes, const char *path) {
  int context = sys_fsopen(type, FSOPEN_CLOEXEC);
  if (context < 0) fail(path);
  for (; options && (*options)[0]; options++)
    if (sys_fsconfig(context, (*options)[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, (*options)[0], (*options)[1]) !=
        0)
      fail(path);
  if (sys_fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL) != 0) fail(path);
  int tree = sys_fsmount(context, FSMOUNT_CLOEXEC, attributes);
  if (tree < 0) fail(path);
  close(context);
  return tree;
}

void mount_tmpfs(struct jail_context *jail, const char *path, mode_t mode, uint32_t attributes) {
  char text[16], owner[16];
  snprintf(text, sizeof text, "%o", (unsigned)mode);
  snprintf(owner, sizeof owner, "%u", jail->namespaces.root_inside);
  /* There are two that the command may fill; together they leave half of the memory. */
  const char *const options[][2] = {{"mode", text},
                                    {"size", "25%"},
                                    {jail->namespaces.shift < 0 ? NULL : "uid", owner},
                                    {"gid", owner},
                                    {NULL, NULL}};
  attach(jail, new_filesystem("tmpfs", options, attributes, path), path, true);
}

/*
 * The device is opened by the process that mounts it, as the kernel wants it: in the jail's own user namespace, or as
 * root. No one but the server keeps it, so that the mount is dead when the server is. Root's commands are other users
 * than the process that mounts it.
 */
void mount_fuse(struct jail_context *jail, const char *path, uint64_t channel, uint32_t attributes) {
  if (channel >= PLAN_MAX_CHANNELS) fail_with(EINVAL, "a channel that no server can have");
  int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) fail("/dev/fuse");
  char descriptor[16], user[16], group[16];
  snprintf(descriptor, sizeof descriptor, "%d", device);
  snprintf(user, sizeof user, "%u", (unsigned)geteuid());
  snprintf(group, sizeof group, "%u", (unsigned)getegid());
  const char *const options[][2] = {{"source", "ctx"},
                                    {"subtype", "ctx"},
                                    {"fd", descriptor},
                                    {"rootmode", "40755"},
                                    {"user_id", user},
                                    {"group_id", group},
                                    {"default_permissions", NULL},
                                    {jail->namespaces.shift < 0 ? NULL : "allow_other", NULL},
                                    {NULL, NULL}};
  int tree = new_filesystem("fuse", options, attributes, path);
  int server = FD_FIRST_CHANNEL + (int)channel;
  send_descriptor(server, device);
  close(device);
  close(server);
  attach(jail, tree, path, true);
}

void mount_proc(struct jail_context *jail, const char *path) {
  attach(jail, new_filesystem("proc", NULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, path), path,
         true);
}

void mount_devpts(struct jail_context *jail, const char *path) {
  const char *const options[][2] = {{"ptmxmode", "0666"}, {"mode", "0620"}, {NULL, NULL}};
  attach(jail, new_filesystem("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, path), path, true);
}

/*
 * Owners are shifted with the command. A filesystem that cannot do that stays as it is: then the command is nobody to
 * it, which is less than was granted and never more.
 */
static void show_as_to_root(struct jail_context *jail, int tree) {
  struct mount_attr shifted = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)jail->namespaces.shift};
  if (sys_mount_setattr(tree, "", AT_EMPTY_PATH, &shifted) != 0 && errno != EINVAL && errno != EPERM)
    fail("shifting the owners of a bind");
}

void exchange_owners(struct jail_context *jail, int tree) {
  struct mount_attr owners = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)jail->namespaces.owners};
  if (sys_mount_setattr(tree, "", AT_EMPTY_PATH, &owners) != 0)
    fail("giving the fork to the agent's own uid, which its filesystem must be able to (idmapped mounts)");
}

static bool is_identical(const struct stat *about, const char *identity) {
  char text[64];
  snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)about->st_dev, (unsigned long long)about->st_ino);
  return strcmp(text, identity) == 0;
}

/*
 * The source was resolved when the plan was made; a symlink that is in it now was put there since, and something else
 * at the same path was put in its place.
 */
int clone_tree(struct jail_context *jail, const char *source, const char *identity, uint32_t attributes,
               bool *directory) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  int found = sys_openat2(AT_FDCWD, source, &how);
  struct stat about;
  if (found < 0 && errno == ENOENT && identity) fail_with(ESTALE, source); /* it was there when it was decided about */
  if (found < 0 || fstat(found, &about) != 0) fail(source);
  if (identity && !is_identical(&about, identity)) fail_with(ESTALE, source);
  struct mount_attr set = {.attr_set = attributes & ~((uint32_t)MOUNT_ATTR_IDMAP | PLAN_ATTR_OWNERS)};
  int tree = sys_clone_tree(found, &set);
  if (tree < 0 && errno == ENOENT && identity) fail_with(ESTALE, source); /* deleted since it was opened */
  if (tree < 0) fail(source);
  if (attributes & MOUNT_ATTR_IDMAP) show_as_to_root(jail, tree);
  if (attributes & PLAN_ATTR_OWNERS) exchange_owners(jail, tree);
  close(found);
  *directory = S_ISDIR(about.st_mode);
  return tree;
}

void mount_bind(struct jail_context *jail, const char *source, const char *target, const char *identity,
                uint32_t attributes) {
  bool directory;
  int tree = clone_tree(jail, source, identity, attributes, &directory);
  attach(jail, tree, target, directory);
}

/* The thing at `path` in the new root, or -1 where there is none. */
static int open_existing(struct jail_context *jail, const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT};
  int found = sys_openat2(jail->root.descriptor, path, &how);
  if (found < 0 && errno != ENOENT) fail(path);
  return found;
}

void mask(struct jail_context *jail, const char *path) {
  int found = open_existing(jail, path);
  if (found < 0) return;
  struct stat about;
  if (fstat(found, &about) != 0) fail(path);
  close(found);
  if (S_ISDIR(about.st_mode)) {
    mount_tmpfs(jail, path, 0555, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  } else {
    mount_bind(jail, "/dev/null", path, NULL, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  }
}

/*
 * A whole mount becomes read-only itself; of a part of one a read-only copy is put in its place. In a kept jail the
 * mount must stay the topmost at its path, since it is found there to be taken down.
 */
void make_read_only(struct jail_context *jail, const char *path) {
  int found = open_existing(jail, path);
  if (found < 0) return;
  struct statx about;
  if (statx(found, "", AT_EMPTY_PATH, STATX_TYPE, &about) != 0) fail(path);
  const bool whole = about.stx_attributes & STATX_ATTR_MOUNT_ROOT;
  int tree =
      whole ? found : sys_open_tree(found, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY};
  if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &set) != 0) fail(path);
  close(found);
  if (!whole) attach(jail, tree, path, S_ISDIR(about.stx_mode));
}

/*
 * What is at the source may be the agent's to change: no link is followed, and nothing outside of the new root is
 * reached.
 */
void repeat_mount(struct jail_context *jail, const char *source, const char *target, uint32_t attributes) {
  const char *name;
  int found = open_existing(jail, source);
  if (found < 0) {
    find_place(jail, target, true, &name);
    return;
  }
  struct stat about;
  if (fstat(found, &about) != 0) fail(source);
  int tree = sys_open_tree(found, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  struct mount_attr set = {.attr_set = attributes};
  if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &set) != 0) fail(source);
  close(found);
  attach(jail, tree, target, S_ISDIR(about.st_mode));
}

/*
 * pivot_root(".", ".") stacks the old root on the new one, where it can be detached without needing a place of its own.
 */
void pivot(struct jail_context *jail) {
  char byte;
  /* pivot_root moves the processes that exist; one that is just being forked would keep the old root. */
  if (read(jail->before_pivot, &byte, 1) != 1) give_up(); /* the owner has said why */
  struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY};
  if (sys_mount_setattr(jail->root.descriptor, "", AT_EMPTY_PATH, &set) != 0) fail("making the root read-only");
  if (fchdir(jail->root.descriptor) != 0 || sys_pivot_root(".", ".") != 0) fail("entering the new root");
  if (sys_umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) fail("leaving the old root");
  close(jail->root.descriptor);
  use_root(jail, -1);
}
