#include "waiters.h"

#include <dirent.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * A condition of glibc 2.25 to 2.40: at 36 how many threads wait, above three bits for something else, at 40 and 44 the
 * two words that they wait at. Since 2.41 a signal waits for nobody.
 */
enum { WAITING = 36, WORDS = 40, OTHER_BITS = 3, ALIGNED = 8, FIRST_MINOR = 25, LAST_MINOR = 40 };

enum { MOST_CONDITIONS = 4, MOST_LOOKS = 100, PAUSE_MICROSECONDS = 200, TEXT = 256 };

static struct condition {
  uintptr_t place;
  unsigned threads;
} conditions[MOST_CONDITIONS];

static bool signals_wait(void) {
  int minor = 0;
  return sscanf(gnu_get_libc_version(), "2.%d", &minor) == 1 && minor >= FIRST_MINOR && minor <= LAST_MINOR;
}

static bool read_text(int tasks, const char *thread, const char *file, char text[TEXT]) {
  char path[TEXT];
  snprintf(path, sizeof path, "%s/%s", thread, file);
  const int from = openat(tasks, path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = from < 0 ? -1 : read(from, text, TEXT - 1);
  if (from >= 0) close(from);
  if (size < 0) return false;
  text[size] = 0;
  return true;
}

/* "V8Worker" in Node 24, "node-V8Worker" in 26. Those of Node 20 have no name, and are given nothing. */
static bool is_worker(int tasks, const char *thread) {
  char name[TEXT];
  return read_text(tasks, thread, "comm", name) && strstr(name, "V8Worker");
}

/* The word at which it waits; 0 where it does something else just now. */
static uintptr_t word_of(int tasks, const char *thread) {
  char text[TEXT];
  long call;
  unsigned long word, operation;
  if (!read_text(tasks, thread, "syscall", text) || sscanf(text, "%ld %lx %lx", &call, &word, &operation) != 3) return 0;
  const unsigned long kind = operation & FUTEX_CMD_MASK;
  return call == SYS_futex && (kind == FUTEX_WAIT_BITSET || kind == FUTEX_WAIT) ? word : 0;
}

static bool note(uintptr_t word) {
  const uintptr_t place = (word - WORDS) / ALIGNED * ALIGNED;
  for (int i = 0; i < MOST_CONDITIONS; i++) {
    if (conditions[i].threads > 0 && conditions[i].place != place) continue;
    conditions[i].place = place;
    conditions[i].threads++;
    return true;
  }
  return false;
}

static volatile uint32_t *waiting(const struct condition *condition) {
  return (volatile uint32_t *)(condition->place + WAITING);
}

/* Whether every worker waits, and each condition knows of as many as were seen at it: then it is one. */
static bool look(int tasks) {
  bool all = true;
  memset(conditions, 0, sizeof conditions);
  DIR *names = fdopendir(dup(tasks));
  if (!names) return false;
  rewinddir(names);
  for (struct dirent *entry; all && (entry = readdir(names));) {
    if (entry->d_name[0] == '.' || !is_worker(tasks, entry->d_name)) continue;
    const uintptr_t word = word_of(tasks, entry->d_name);
    all = word != 0 && note(word);
  }
  closedir(names);
  for (int i = 0; all && i < MOST_CONDITIONS && conditions[i].threads > 0; i++)
    all = *waiting(&conditions[i]) >> OTHER_BITS == conditions[i].threads;
  return all;
}

bool waiters_find(void) {
  static bool before;
  if (!signals_wait()) return true;
  const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool found = false;
  for (int looks = 0; tasks >= 0 && !found && looks < MOST_LOOKS; looks++) {
    const struct timespec pause = {.tv_nsec = PAUSE_MICROSECONDS * 1000};
    found = look(tasks);
    if (!found) nanosleep(&pause, NULL);
  }
  if (tasks >= 0) close(tasks);
  if (!found) memset(conditions, 0, sizeof conditions);
  before |= found;
  return found || !before;
}

void waiters_forget(void) {
  for (int i = 0; i < MOST_CONDITIONS && conditions[i].threads > 0; i++)
    *waiting(&conditions[i]) &= (1U << OTHER_BITS) - 1;
}
