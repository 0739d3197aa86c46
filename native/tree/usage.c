/*
 * usage: how much some trees hold, bytes on disk and inodes, a hard link once. With --every it goes on looking until no
 * one reads any more: first of all what is there, then whatever differs from the last time.
 *
 * The trees are being written while this looks. It spends a small part of a processor on large trees by looking at them
 * less often, and looks sooner where the filesystem as a whole has grown: asking that costs one call.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of the time between two looks, one part in so many is spent looking; in a hurry, one in HURRIED_REST. */
enum { REST = 15, HURRIED_REST = 2 };

struct usage {
  uint64_t bytes, inodes;
  uint64_t unseen;         /* directories that could not be looked into: too deep, or closed */
  uint64_t files, content; /* everything but directories, and how long the regular files are */
  uint64_t longest;        /* of those the longest one */
};

/* Inodes with several names that were met before. */
struct met {
  struct identity *slots;
  size_t count, capacity;
};

static size_t slot_of(const struct met *met, struct identity identity) {
  size_t at = (size_t)((identity.inode * 0x9e3779b97f4a7c15u) ^ identity.device) & (met->capacity - 1);
  while (met->slots[at].inode != 0 &&
         (met->slots[at].inode != identity.inode || met->slots[at].device != identity.device))
    at = (at + 1) & (met->capacity - 1);
  return at;
}

static bool is_met(struct met *met, const struct stat *status) {
  struct identity identity = {.device = status->st_dev, .inode = status->st_ino};
  if (met->count * 2 >= met->capacity) {
    struct met larger = {.count = met->count, .capacity = met->capacity == 0 ? 1024 : met->capacity * 2};
    larger.slots = allocate(larger.capacity * sizeof *larger.slots);
    for (size_t i = 0; i < met->capacity; i++)
      if (met->slots[i].inode != 0) larger.slots[slot_of(&larger, met->slots[i])] = met->slots[i];
    free(met->slots);
    *met = larger;
  }
  size_t at = slot_of(met, identity);
  if (met->slots[at].inode != 0) return true;
  met->slots[at] = identity;
  met->count++;
  return false;
}

static void count(struct usage *usage, struct met *met, const struct stat *status) {
  if (!S_ISDIR(status->st_mode) && status->st_nlink > 1 && is_met(met, status)) return;
  usage->bytes += (uint64_t)status->st_blocks * 512;
  usage->inodes++;
  if (S_ISDIR(status->st_mode)) return;
  usage->files++;
  if (!S_ISREG(status->st_mode)) return;
  usage->content += (uint64_t)status->st_size;
  if ((uint64_t)status->st_size > usage->longest) usage->longest = (uint64_t)status->st_size;
}

/*
 * Entries are read to the end before any directory is entered: one buffer for all levels, and a level keeps only names.
 */
struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

static void count_directory(struct usage *usage, struct met *met, int fd);

static void count_below(struct usage *usage, struct met *met, int parent, const char *name) {
  struct stat status;
  int fd = open_directory(parent, name);
  if (fd < 0 || fstat(fd, &status) != 0) {
    /* Gone, or something else since: it is counted as that the next time. */
    if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) usage->unseen++;
    if (fd >= 0) close(fd);
    return;
  }
  count(usage, met, &status);
  count_directory(usage, met, fd);
  close(fd);
}

static void count_directory(struct usage *usage, struct met *met, int fd) {
  static _Alignas(struct entry) char space[128 * 1024];
  struct buffer names = {0};
  long got;
  while ((got = syscall(SYS_getdents64, fd, space, sizeof space)) > 0) {
    for (long at = 0; at < got;) {
      const struct entry *entry = (const struct entry *)(space + at);
      at += entry->length;
      if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0) continue;
      struct stat status;
      bool known =
          entry->type != DT_DIR && fstatat(fd, entry->name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0;
      if (entry->type == DT_DIR || (known && S_ISDIR(status.st_mode)))
        append(&names, entry->name, strlen(entry->name) + 1);
      else if (known)
        count(usage, met, &status);
    }
  }
  if (got < 0 && errno != ENOENT) usage->unseen++;
  for (size_t at = 0; at < names.length; at += strlen(names.data + at) + 1)
    count_below(usage, met, fd, names.data + at);
  free(names.data);
}

static struct usage look(const int *roots, size_t root_count) {
  struct usage usage = {0};
  struct met met = {0};
  for (size_t i = 0; i < root_count; i++) {
    int fd = open_directory(roots[i], "."); /* an offset of its own, at the start */
    if (fd < 0) fail(errno, "open", "the tree");
    count_directory(&usage, &met, fd);
    close(fd);
  }
  free(met.slots);
  return usage;
}

static void put_usage(struct usage usage) {
  put_number(usage.bytes, false);
  put_number(usage.inodes, false);
  put_number(usage.unseen, false);
  put_number(usage.files, false);
  put_number(usage.content, false);
  put_number(usage.longest, false);
  flush_output();
}

static int64_t read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return nanoseconds(time);
}

/* What is free on the trees' filesystem; 0 where it does not say, and then nothing hurries. */
static uint64_t free_bytes(int root) {
  struct statvfs about;
  return fstatvfs(root, &about) == 0 ? (uint64_t)about.f_bfree * about.f_frsize : 0;
}

/*
 * Until it is time to look again, after a look that took so much of a processor: what it waited for one does not count,
 * or a command that keeps all of them busy would be looked at less often. False where no one reads any more.
 */
static bool rest(const struct options *options, int root, int64_t took) {
  uint64_t free_then = free_bytes(root);
  int64_t looked = read_clock(CLOCK_MONOTONIC);
  for (;;) {
    struct pollfd reader = {.fd = STDOUT_FILENO};
    if (poll(&reader, 1, (int)options->every) > 0) return false;
    int64_t rested = read_clock(CLOCK_MONOTONIC) - looked;
    uint64_t free_now = free_bytes(root);
    bool grown = options->wake_bytes > 0 && free_now < free_then && free_then - free_now >= options->wake_bytes;
    if (rested >= took * REST || (grown && rested >= took * HURRIED_REST)) return true;
  }
}

int usage_verb(const struct options *options) {
  size_t count_of_roots = options->layers.count;
  int *roots = allocate(count_of_roots * sizeof *roots);
  for (size_t i = 0; i < count_of_roots; i++) roots[i] = open_named_root(options->layers.items[i]);
  struct usage last = {0};
  for (bool first = true;; first = false) {
    int64_t before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    struct usage usage = look(roots, count_of_roots);
    if (first || memcmp(&usage, &last, sizeof usage) != 0) put_usage(usage);
    last = usage;
    int64_t took = read_clock(CLOCK_PROCESS_CPUTIME_ID) - before;
    if (options->every == 0 || !rest(options, roots[0], took)) return 0;
  }
}
