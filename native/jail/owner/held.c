#include "owner/held.h"
#include "jail.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A slice is small beside the time between two, so that the owner always has time for its commands. */
enum { SLICE_MS = 2, REST_MS = 20, STEPS_BEFORE_CLOCK = 64 };

struct held_file {
  dev_t device;
  ino_t inode;
  uint64_t bytes;
};

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_directory(DIR **directory) {
  if (*directory) closedir(*directory);
  *directory = NULL;
}

static void forget_pass(struct held *held) {
  close_directory(&held->pass.descriptors);
  close_directory(&held->pass.tasks);
  close_directory(&held->pass.processes);
  held->pass.count = 0;
  held->pass.hidden = false;
}

void held_watch(struct held *held, const struct plan *command, uint32_t id) {
  forget_pass(held);
  for (uint32_t i = 0; i < held->count; i++) free(held->paths[i]);
  held->count = 0;
  held->next = 0;
  held->last = (struct held_sum){0};
  const struct operation *places = find(command, OP_HELD);
  if (!places) return;
  for (char **path = places->strings; *path && held->count < MOST_HELD_PLACES; path++) {
    struct stat about;
    if (stat(*path, &about) != 0) continue; /* nothing is there to be held */
    char *copy = strdup(*path);
    if (!copy) fail(*path);
    held->paths[held->count] = copy;
    held->devices[held->count++] = about.st_dev;
  }
  held->id = id;
  held->next = milliseconds();
}

void held_follow(struct held *held, uint32_t ended, uint32_t other) {
  if (held->id != ended) return;
  held->id = other;
  held->last = (struct held_sum){0}; /* it has heard of nothing yet */
}

int held_patience(const struct held *held) {
  return held->next > 0 ? REST_MS : -1;
}

static bool is_watched(const struct held *held, dev_t device) {
  for (uint32_t i = 0; i < held->count; i++)
    if (held->devices[i] == device) return true;
  return false;
}

static void keep(struct held *held, const struct stat *about) {
  if (held->pass.count == held->pass.capacity) {
    size_t capacity = held->pass.capacity ? held->pass.capacity * 2 : 256;
    struct held_file *larger = realloc(held->pass.files, capacity * sizeof *larger);
    if (!larger) {
      held->pass.hidden = true;
      return;
    }
    held->pass.files = larger;
    held->pass.capacity = capacity;
  }
  held->pass.files[held->pass.count++] =
      (struct held_file){.device = about->st_dev, .inode = about->st_ino, .bytes = (uint64_t)about->st_blocks * 512};
}

/* `about` is of the link that /proc has of it: what was opened, and nothing that is at its path now. */
static void keep_nameless(struct held *held, const struct stat *about) {
  if (S_ISREG(about->st_mode) && about->st_nlink == 0 && is_watched(held, about->st_dev)) keep(held, about);
}

/* Calls `use` for each line of a file in `directory`; a longer one is cut. */
static void each_line(struct held *held, int directory, const char *name,
                      bool (*use)(const struct held *held, const char *line)) {
  int descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
  if (!file) {
    if (descriptor >= 0) close(descriptor);
    return; /* ended meanwhile */
  }
  char *line = NULL;
  size_t size = 0;
  while (!held->pass.hidden && getline(&line, &size, file) >= 0) held->pass.hidden = use(held, line);
  free(line);
  fclose(file);
}

static bool maps_deleted_file(const struct held *held, const char *line) {
  static const char deleted[] = " (deleted)\n";
  size_t length = strlen(line);
  const char *path = strchr(line, '/');
  if (!path || length < sizeof deleted || strcmp(line + length - (sizeof deleted - 1), deleted) != 0) return false;
  for (uint32_t i = 0; i < held->count; i++)
    if (strncmp(path, held->paths[i], strlen(held->paths[i])) == 0) return true;
  return false;
}

static bool holds_descriptors(const struct held *held, const char *line) {
  (void)held;
  unsigned long count;
  return sscanf(line, "scm_fds: %lu", &count) == 1 && count > 0;
}

/* The next directory that is a number in `parent`; null where there is none. */
static const char *next_number(DIR *parent) {
  for (struct dirent *entry; (entry = readdir(parent));)
    if (isdigit((unsigned char)entry->d_name[0])) return entry->d_name;
  return NULL;
}

static DIR *open_below(DIR *parent, const char *format, const char *name) {
  char path[300];
  snprintf(path, sizeof path, format, name);
  int descriptor = openat(dirfd(parent), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
  if (!directory && descriptor >= 0) close(descriptor);
  return directory;
}

static void enter_process(struct held *held, const char *name) {
  held->pass.tasks = open_below(held->pass.processes, "%s/task", name);
  if (!held->pass.tasks) return;
  char path[300];
  snprintf(path, sizeof path, "%s/exe", name);
  struct stat program;
  if (fstatat(dirfd(held->pass.processes), path, &program, 0) == 0) keep_nameless(held, &program);
  snprintf(path, sizeof path, "%s/maps", name);
  each_line(held, dirfd(held->pass.processes), path, maps_deleted_file);
}

static void look_at_descriptor(struct held *held, const char *name) {
  struct stat about;
  if (fstatat(dirfd(held->pass.descriptors), name, &about, 0) != 0) return;
  if (S_ISSOCK(about.st_mode) && !held->pass.hidden) {
    char path[300];
    snprintf(path, sizeof path, "../fdinfo/%s", name);
    each_line(held, dirfd(held->pass.descriptors), path, holds_descriptors);
  } else {
    keep_nameless(held, &about);
  }
}

/* A thread may have descriptors of its own. False at the end of the walk. */
static bool step(struct held *held) {
  const char *name;
  if (held->pass.descriptors) {
    if ((name = next_number(held->pass.descriptors)))
      look_at_descriptor(held, name);
    else
      close_directory(&held->pass.descriptors);
  } else if (held->pass.tasks) {
    if ((name = next_number(held->pass.tasks)))
      held->pass.descriptors = open_below(held->pass.tasks, "%s/fd", name);
    else
      close_directory(&held->pass.tasks);
  } else {
    if (!(name = next_number(held->pass.processes))) return false;
    enter_process(held, name);
  }
  return true;
}

static int by_identity(const void *left, const void *right) {
  const struct held_file *a = left, *b = right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  return a->inode < b->inode ? -1 : a->inode > b->inode;
}

/* However many hold a file, it takes its room once. */
static struct held_sum sum_up(const struct held *held) {
  struct held_sum sum = {.hidden = held->pass.hidden};
  if (held->pass.count > 1) qsort(held->pass.files, held->pass.count, sizeof *held->pass.files, by_identity);
  for (size_t i = 0; i < held->pass.count; i++) {
    if (i > 0 && by_identity(&held->pass.files[i - 1], &held->pass.files[i]) == 0) continue;
    sum.bytes += held->pass.files[i].bytes;
    sum.files++;
  }
  return sum;
}

/* What is hidden is reported every time: the process that hears of it looks at the filesystem instead. */
static void tell(struct held *held, struct held_sum sum) {
  if (sum.bytes != held->last.bytes || sum.files != held->last.files || sum.hidden || held->last.hidden) {
    report_about(held->id);
    report("held %llu %llu %d", (unsigned long long)sum.bytes, (unsigned long long)sum.files, sum.hidden);
    report_about(0);
  }
  held->last = sum;
}

void held_look(struct held *held) {
  long long began = held->next > 0 ? milliseconds() : 0;
  if (held->next == 0 || began < held->next) return;
  if (!held->pass.processes && !(held->pass.processes = opendir("/proc"))) fail("/proc");
  bool more = true;
  for (int steps = 1; more && (steps % STEPS_BEFORE_CLOCK != 0 || milliseconds() - began < SLICE_MS); steps++)
    more = step(held);
  if (!more) {
    tell(held, sum_up(held));
    forget_pass(held);
  }
  held->next = milliseconds() + REST_MS;
}
