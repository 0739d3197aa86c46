/*
 * Caches of the person's tools: an overlay of their own directory, read as it is now, and of a directory of the fork
 * that takes all that is written. Unlike the workspace's layers the lower one is alive: tools add to their caches and
 * rarely change what is there.
 *
 * An upper directory is mounted once at a time: the process that mounts it has its work directory locked, and goes on
 * sharing that lock for as long as it lives, as everybody does who joined by a clone of the mount (join.h). A jail that
 * comes second and finds none to clone, and one on a filesystem that cannot be a layer, shows the cache read-only,
 * which is never more than was granted.
 */
#include "mount/cache.h"
#include "context.h"
#include "jail.h"
#include "mount/join.h"
#include "syscalls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TARGET, SOURCE, UPPER, WORK };

/* Who has this directory locked, as the host numbers processes; 0 where the kernel does not show it. */
static long holder_of(int work) {
  struct stat about;
  char *line = NULL;
  size_t size = 0;
  long found = 0;
  FILE *locks = fopen("/proc/locks", "re");
  if (!locks || fstat(work, &about) != 0) {
    if (locks) fclose(locks);
    return 0;
  }
  while (!found && getline(&line, &size, locks) > 0) {
    unsigned int major_number, minor_number;
    unsigned long inode;
    long pid;
    if (sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%lu", &pid, &major_number, &minor_number, &inode) == 4 && pid > 0 &&
        inode == about.st_ino && makedev(major_number, minor_number) == about.st_dev)
      found = pid;
  }
  free(line);
  fclose(locks);
  return found;
}

/* Made by the owner before init is started, and kept open by it alone. */
void lock_caches(const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++) {
    struct operation *cache = &plan->operations[i];
    if (cache->code != OP_CACHE) continue;
    int work = open(cache->strings[WORK], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (work < 0) fail(cache->strings[WORK]);
    /* A clone is of a mount that is there, no matter who made it. */
    const bool joins = is_shared(cache) && cache->taken >= 0;
    const bool locked = flock(work, (joins ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
    if (!locked && !joins) report("read-only-cache %ld %s", holder_of(work), cache->strings[TARGET]);
    cache->number = locked && !joins;
    cache->lock = work;
  }
}

void share_caches(const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->operations[i].code == OP_CACHE && plan->operations[i].number)
      flock(plan->operations[i].lock, LOCK_SH | LOCK_NB);
}

static const char lower_path[] = "/proc/.lower", lower_name[] = ".lower", merged_path[] = "/proc/.cache",
                  merged_name[] = ".cache";

static void make_staging(struct jail_context *jail, const char *name) {
  if (mkdirat(jail->root.descriptor, name, 0700) != 0) fail("making the staging place of a cache");
}

static void remove_staging(struct jail_context *jail, const char *name) {
  if (unlinkat(jail->root.descriptor, name, AT_REMOVEDIR) != 0) fail("removing the staging place of a cache");
}

/* The mount, detached from its staging place; -1 where these directories cannot be an overlay. */
static int overlay_of(struct jail_context *jail, const struct operation *cache) {
  char options[4096];
  bool directory;
  /* By a clone, which needs no path that could hold a separator, and shows owners as to root where the plan says so. */
  int lower = clone_tree(jail, cache->strings[SOURCE], NULL, cache->flags | MOUNT_ATTR_RDONLY, &directory);
  if (!directory || snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s,%s", lower_path,
                             cache->strings[UPPER], cache->strings[WORK], overlay_profile) >= (int)sizeof options) {
    close(lower);
    return -1;
  }
  make_staging(jail, lower_name);
  make_staging(jail, merged_name);
  clear_volatile_marker(cache->strings[WORK]);
  if (sys_move_mount(lower, "", jail->root.descriptor, lower_name, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail(cache->strings[SOURCE]);
  const bool mounted = sys_mount("ctx-cache", merged_path, "overlay", 0, options) == 0;
  int tree = mounted ? openat(jail->root.descriptor, merged_name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (mounted) open_work_directories(cache->strings[WORK]);
  struct mount_attr set = {.attr_set = cache->flags & ~(uint64_t)MOUNT_ATTR_IDMAP};
  if (mounted && (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &set) != 0)) fail(cache->strings[TARGET]);
  /* The overlay has a mount of its own. */
  if (sys_umount2(lower_path, MNT_DETACH) != 0) fail("closing the lower layer of a cache");
  close(lower);
  remove_staging(jail, lower_name);
  return tree;
}

void mount_cache(struct jail_context *jail, const struct operation *cache) {
  if (is_shared(cache) && cache->taken >= 0) return attach(jail, cache->taken, cache->strings[TARGET], true);
  int tree = cache->number ? overlay_of(jail, cache) : -1;
  if (tree < 0) {
    unlinkat(jail->root.descriptor, merged_name, AT_REMOVEDIR); /* there where it was tried */
    mount_bind(jail, cache->strings[SOURCE], cache->strings[TARGET], NULL, cache->flags | MOUNT_ATTR_RDONLY);
    return;
  }
  attach(jail, tree, cache->strings[TARGET], true);
  remove_staging(jail, merged_name);
}
