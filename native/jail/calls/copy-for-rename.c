#include "calls/copy-for-rename.h"
#include "calls/staged-tree.h"
#include "syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000
#endif

/*
 * A program that makes one file after the other in it cannot be waited for without end. Both count: on a busy machine
 * or disk a single attempt may take longer than the seconds.
 */
enum { LEAST_SECONDS = 10, LEAST_ATTEMPTS = 1000, MOST_LEVELS = 1 << 16 };

/* The last part of a path, in the directory that the rest of it names. */
struct place {
  int parent;
  char name[NAME_MAX + 1];
};

/* False where the kernel has something else to say about the path. */
static bool find_place_of(struct name given, struct place *place) {
  char path[PATH_MAX];
  size_t length = strlen(given.path);
  if (length == 0 || length >= sizeof path) return false;
  memcpy(path, given.path, length + 1);
  while (length > 1 && path[length - 1] == '/') path[--length] = 0;
  char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  if (!*name || strlen(name) > NAME_MAX || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
  strcpy(place->name, name);
  if (slash) slash[slash == path ? 1 : 0] = 0;
  /* What /proc/self is to the caller it is not to this process. */
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  place->parent = sys_openat2(given.base, slash ? path : ".", &how);
  return place->parent >= 0;
}

static bool may_change(int directory) {
  return faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

static bool is_one_mount(int a, int b) {
  struct statx first, second;
  if (statx(a, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &first) != 0 ||
      statx(b, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &second) != 0)
    return false;
  return first.stx_dev_major == second.stx_dev_major && first.stx_dev_minor == second.stx_dev_minor &&
         first.stx_mnt_id == second.stx_mnt_id;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A directory that gets another parent is written to. */
static bool may_leave(const struct place *from, const struct place *to) {
  struct stat old, new;
  if (fstat(from->parent, &old) != 0 || fstat(to->parent, &new) != 0) return false;
  return is_same(&old, &new) || faccessat(from->parent, from->name, W_OK, AT_EACCESS) == 0;
}

/* Whether `directory` is `outer`, or in it; true where that cannot be known. */
static bool lies_in(int directory, const struct stat *outer) {
  int at = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat here, above;
  bool inside = true;
  if (at < 0 || fstat(at, &here) != 0) goto out;
  for (int level = 0; level < MOST_LEVELS; level++) {
    if ((inside = is_same(&here, outer))) break;
    int parent = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    inside = true;
    if (parent < 0) break;
    close(at);
    at = parent;
    if (fstat(at, &above) != 0) break;
    if (is_same(&here, &above)) {
      inside = false;
      break;
    }
    here = above;
  }
out:
  if (at >= 0) close(at);
  return inside;
}

/* Of a directory that cannot be read, true: the kernel will say what it thinks of it. */
static bool is_empty(const struct place *place) {
  int descriptor = openat(place->parent, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *entries = descriptor < 0 ? NULL : fdopendir(descriptor);
  bool empty = true;
  if (!entries) {
    if (descriptor >= 0) close(descriptor);
    return true;
  }
  for (struct dirent *entry; empty && (entry = readdir(entries));)
    empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
  closedir(entries);
  return empty;
}

static bool make_staging(int parent, char name[NAME_MAX + 1]) {
  for (int attempt = 0; attempt < 8; attempt++) {
    unsigned char bytes[8] = {0};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    int length = snprintf(name, NAME_MAX + 1, ".ctx-rename-");
    for (size_t i = 0; i < sizeof bytes; i++)
      length += snprintf(name + length, (size_t)(NAME_MAX + 1 - length), "%02x", bytes[i]);
    if (mkdirat(parent, name, 0700) == 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

/*
 * Asked of the kernel, by a rename that never succeeds: onto a directory with something in it. It looks first whether
 * the caller may rename this one at all, then whether it lies in the upper layer alone, and at the target last.
 */
static bool is_refused_by_overlay(const struct place *place, const char *staging, int staging_directory) {
  static const char filler[] = "filler";
  if (mkdirat(staging_directory, filler, 0700) != 0) return false;
  int result = renameat2(place->parent, place->name, place->parent, staging, 0);
  int error = errno;
  if (result == 0) {
    /* Somebody emptied it meanwhile. */
    renameat2(place->parent, staging, place->parent, place->name, RENAME_NOREPLACE);
    return false;
  }
  return unlinkat(staging_directory, filler, AT_REMOVEDIR) == 0 && error == EXDEV;
}

static long long seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* Replaces `from`, which is emptied, by the staged directory. What is put there meanwhile is taken along. */
static int change_places(struct staged_tree *tree, const struct place *place, int from, const char *staging) {
  int error = ENOTEMPTY;
  long long end = seconds() + LEAST_SECONDS;
  for (int attempt = 0; attempt < LEAST_ATTEMPTS || seconds() < end; attempt++) {
    if ((error = staged_empty(tree, from, tree->top))) return error;
    if (renameat2(place->parent, staging, place->parent, place->name, 0) == 0) return 0;
    error = errno;
    if (error != ENOTEMPTY && error != EEXIST) return error;
  }
  return error;
}

static bool replace(const struct place *place, const char *staging, int to, struct copied_for_rename *cost) {
  unsigned mode = 0;
  struct stat before;
  int from = open_to_change(place->parent, place->name, &mode);
  if (from < 0 || fstat(from, &before) != 0) {
    if (from >= 0) close(from);
    return false;
  }
  struct staged_tree tree = {.top = to, .cost = cost};
  int error = staged_fill(&tree, from, to, mode);
  if (!error) error = change_places(&tree, place, from, staging);
  if (error) {
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    fchmod(to, 0700);
    staged_undo(from, to);
    fchmod(from, mode);
    futimens(from, times);
  } else {
    cost->directories++;
  }
  staged_forget(&tree);
  close(from);
  return !error;
}

/* Where anything fails, all is as it was, and the kernel will refuse the call as it always did. */
static void copy_directory(const struct place *place, struct copied_for_rename *cost) {
  char staging[NAME_MAX + 1];
  struct stat before;
  if (fstat(place->parent, &before) != 0 || !make_staging(place->parent, staging)) return;
  bool replaced = false;
  int to = openat(place->parent, staging, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (to >= 0 && is_refused_by_overlay(place, staging, to)) replaced = replace(place, staging, to, cost);
  if (to >= 0) close(to);
  /* It is gone where it has taken the other's place. */
  unlinkat(place->parent, staging, AT_REMOVEDIR);
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  if (!replaced) utimensat(place->parent, ".", times, 0);
}

static int decide(struct place *from, struct place *to, unsigned flags, struct copied_for_rename *cost) {
  struct stat source, target;
  if (!is_one_mount(from->parent, to->parent) || !may_change(from->parent) || !may_change(to->parent)) return 0;
  if (fstatat(from->parent, from->name, &source, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  bool exists = fstatat(to->parent, to->name, &target, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && is_same(&source, &target)) return 0;
  if (S_ISDIR(source.st_mode) && (lies_in(to->parent, &source) || !may_leave(from, to))) return 0;
  if (flags & RENAME_EXCHANGE) {
    if (!exists || (S_ISDIR(target.st_mode) && lies_in(from->parent, &target))) return 0;
    if (S_ISDIR(target.st_mode)) copy_directory(to, cost);
  } else if (exists) {
    if (flags & RENAME_NOREPLACE || !S_ISDIR(source.st_mode) || !S_ISDIR(target.st_mode)) return 0;
    if (!is_empty(to)) return ENOTEMPTY;
  }
  if (S_ISDIR(source.st_mode)) copy_directory(from, cost);
  return 0;
}

int copy_for_rename(struct name from, struct name to, unsigned flags, struct copied_for_rename *cost) {
  struct place source, target;
  /* The kernel refuses any other flag, and both together. */
  if (flags != 0 && flags != RENAME_NOREPLACE && flags != RENAME_EXCHANGE) return 0;
  if (!find_place_of(from, &source)) return 0;
  int answer = 0;
  if (find_place_of(to, &target)) {
    answer = decide(&source, &target, flags, cost);
    close(target.parent);
  }
  close(source.parent);
  return answer;
}
