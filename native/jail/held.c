#include "held.h"
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
enum { MOST_PLACES = 32, SLICE_MS = 2, REST_MS = 20, STEPS_BEFORE_CLOCK = 64 };

static struct {
  uint32_t id;
  uint32_t count;
  dev_t devices[MOST_PLACES];
  char *paths[MOST_PLACES]; /* as the maps of a process name them */
  long long next;           /* when it is time for a slice; 0 where nothing is looked at */
} watched;

struct file {
  dev_t device;
  ino_t inode;
  uint64_t bytes;
};

struct sum {
  uint64_t bytes, files;
  bool hidden;
};

/* One walk over all descriptors, with what it found so far. */
static struct pass {
  DIR *processes, *tasks, *descriptors;
  struct file *files;
  size_t count, capacity;
  bool hidden;
} pass;

static struct sum last;

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_directory(DIR **directory) {
  if (*directory) closedir(*directory);
  *directory = NULL;
}

static void forget_pass(void) {
  close_directory(&pass.descriptors);
  close_directory(&pass.tasks);
  close_directory(&pass.processes);
  pass.count = 0;
  pass.hidden = false;
}

void held_watch(const struct plan *command, uint32_t id) {
  forget_pass();
  for (uint32_t i = 0; i < watched.count; i++) free(watched.paths[i]);
  watched.count = 0;
  watched.next = 0;
  last = (struct sum){0};
  const struct operation *held = find(command, OP_HELD);
  if (!held) return;
  for (char **path = held->strings; *path && watched.count < MOST_PLACES; path++) {
    struct stat about;
    if (stat(*path, &about) != 0) continue; /* nothing is there to be held */
    char *copy = strdup(*path);
    if (!copy) fail(*path);
    watched.paths[watched.count] = copy;
    watched.devices[watched.count++] = about.st_dev;
  }
  watched.id = id;
  watched.next = milliseconds();
}

void held_follow(uint32_t ended, uint32_t other) {
  if (watched.id != ended) return;
  watched.id = other;
  last = (struct sum){0}; /* it has heard of nothing yet */
}

int held_patience(void) {
  return watched.next > 0 ? REST_MS : -1;
}

static bool is_watched(dev_t device) {
  for (uint32_t i = 0; i < watched.count; i++)
    if (watched.devices[i] == device) return true;
  return false;
}

static void keep(const struct stat *about) {
  if (pass.count == pass.capacity) {
    size_t capacity = pass.capacity ? pass.capacity * 2 : 256;
    struct file *larger = realloc(pass.files, capacity * sizeof *larger);
    if (!larger) {
      pass.hidden = true;
      return;
    }
    pass.files = larger;
    pass.capacity = capacity;
  }
  pass.files[pass.count++] =
      (struct file){.device = about->st_dev, .inode = about->st_ino, .bytes = (uint64_t)about->st_blocks * 512};
}

/* `about` is of the link that /proc has of it: what was opened, and nothing that stands at its path now. */
static void keep_nameless(const struct stat *about) {
  if (S_ISREG(about->st_mode) && about->st_nlink == 0 && is_watched(about->st_dev)) keep(about);
}

/* Calls `use` for each line of a file in `directory`; a longer one is cut. */
static void each_line(int directory, const char *name, bool (*use)(const char *line)) {
  int descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
  if (!file) {
    if (descriptor >= 0) close(descriptor);
    return; /* ended meanwhile */
  }
  char *line = NULL;
  size_t size = 0;
  while (!pass.hidden && getline(&line, &size, file) >= 0) pass.hidden = use(line);
  free(line);
  fclose(file);
}

static bool maps_deleted_file(const char *line) {
  static const char deleted[] = " (deleted)\n";
  size_t length = strlen(line);
  const char *path = strchr(line, '/');
  if (!path || length < sizeof deleted || strcmp(line + length - (sizeof deleted - 1), deleted) != 0) return false;
  for (uint32_t i = 0; i < watched.count; i++)
    if (strncmp(path, watched.paths[i], strlen(watched.paths[i])) == 0) return true;
  return false;
}

static bool holds_descriptors(const char *line) {
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

static void enter_process(const char *name) {
  pass.tasks = open_below(pass.processes, "%s/task", name);
  if (!pass.tasks) return;
  char path[300];
  snprintf(path, sizeof path, "%s/exe", name);
  struct stat program;
  if (fstatat(dirfd(pass.processes), path, &program, 0) == 0) keep_nameless(&program);
  snprintf(path, sizeof path, "%s/maps", name);
  each_line(dirfd(pass.processes), path, maps_deleted_file);
}

static void look_at_descriptor(const char *name) {
  struct stat about;
  if (fstatat(dirfd(pass.descriptors), name, &about, 0) != 0) return;
  if (S_ISSOCK(about.st_mode) && !pass.hidden) {
    char path[300];
    snprintf(path, sizeof path, "../fdinfo/%s", name);
    each_line(dirfd(pass.descriptors), path, holds_descriptors);
  } else {
    keep_nameless(&about);
  }
}

/* A thread may have descriptors of its own. False at the end of the walk. */
static bool step(void) {
  const char *name;
  if (pass.descriptors) {
    if ((name = next_number(pass.descriptors)))
      look_at_descriptor(name);
    else
      close_directory(&pass.descriptors);
  } else if (pass.tasks) {
    if ((name = next_number(pass.tasks)))
      pass.descriptors = open_below(pass.tasks, "%s/fd", name);
    else
      close_directory(&pass.tasks);
  } else {
    if (!(name = next_number(pass.processes))) return false;
    enter_process(name);
  }
  return true;
}

static int by_identity(const void *left, const void *right) {
  const struct file *a = left, *b = right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  return a->inode < b->inode ? -1 : a->inode > b->inode;
}

/* However many hold a file, it takes its room once. */
static struct sum sum_up(void) {
  struct sum sum = {.hidden = pass.hidden};
  if (pass.count > 1) qsort(pass.files, pass.count, sizeof *pass.files, by_identity);
  for (size_t i = 0; i < pass.count; i++) {
    if (i > 0 && by_identity(&pass.files[i - 1], &pass.files[i]) == 0) continue;
    sum.bytes += pass.files[i].bytes;
    sum.files++;
  }
  return sum;
}

/* What is hidden is told every time: whoever hears of it looks at the filesystem instead. */
static void tell(struct sum sum) {
  if (sum.bytes != last.bytes || sum.files != last.files || sum.hidden || last.hidden) {
    report_about(watched.id);
    report("held %llu %llu %d", (unsigned long long)sum.bytes, (unsigned long long)sum.files, sum.hidden);
    report_about(0);
  }
  last = sum;
}

void held_look(void) {
  long long began = watched.next > 0 ? milliseconds() : 0;
  if (watched.next == 0 || began < watched.next) return;
  if (!pass.processes && !(pass.processes = opendir("/proc"))) fail("/proc");
  bool more = true;
  for (int steps = 1; more && (steps % STEPS_BEFORE_CLOCK != 0 || milliseconds() - began < SLICE_MS); steps++)
    more = step();
  if (!more) {
    tell(sum_up());
    forget_pass();
  }
  watched.next = milliseconds() + REST_MS;
}
