/*
 * How many entries a tree holds, whatever its depth: two descriptors at a time. The way back up is `..`, taken only
 * where it is the directory that was come from. A tree that is being moved about meanwhile is counted as far as it was
 * seen.
 */
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

struct level {
  struct identity identity;
  struct buffer directories; /* names of those yet to be entered */
  size_t position;
};

static bool is_directory(int fd, const struct entry *entry) {
  struct stat status;
  if (entry->type != DT_UNKNOWN) return entry->type == DT_DIR;
  return fstatat(fd, entry->name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 && S_ISDIR(status.st_mode);
}

static uint64_t list_level(int fd, struct level *level) {
  static _Alignas(struct entry) char space[64 * 1024];
  struct stat status;
  uint64_t count = 0;
  *level = (struct level){0};
  if (fstat(fd, &status) == 0) level->identity = (struct identity){status.st_dev, status.st_ino};
  for (long got; (got = syscall(SYS_getdents64, fd, space, sizeof space)) > 0;) {
    for (long at = 0; at < got;) {
      const struct entry *entry = (const struct entry *)(space + at);
      at += entry->length;
      if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0) continue;
      count++;
      if (is_directory(fd, entry)) append(&level->directories, entry->name, strlen(entry->name) + 1);
    }
  }
  return count;
}

static int up_to(int fd, struct identity identity) {
  struct stat status;
  int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (above < 0) return -1;
  if (fstat(above, &status) == 0 && status.st_dev == identity.device && status.st_ino == identity.inode) return above;
  close(above);
  return -1;
}

uint64_t count_entries(int directory) {
  int fd = open_directory(directory, "."); /* an offset of its own, at the start */
  if (fd < 0) return 1;                    /* something that cannot be looked into */
  size_t depth = 0, room = 64;
  struct level *levels = allocate(room * sizeof *levels);
  uint64_t count = list_level(fd, &levels[0]);
  while (fd >= 0) {
    struct level *level = &levels[depth];
    int next = -1;
    if (level->position < level->directories.length) {
      const char *name = level->directories.data + level->position;
      level->position += strlen(name) + 1;
      next = open_directory(fd, name);
      if (next < 0) continue;
      if (++depth == room) levels = reallocate(levels, (room *= 2) * sizeof *levels);
      count += list_level(next, &levels[depth]);
    } else {
      free(level->directories.data);
      if (depth-- == 0) break;
      next = up_to(fd, levels[depth].identity);
    }
    close(fd);
    fd = next;
  }
  if (fd >= 0) close(fd);
  free(levels);
  return count;
}
