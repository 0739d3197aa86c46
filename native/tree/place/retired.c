/*
 * Files that were taken away, held a little longer. Anyone who saves into a file finds it by its name first and opens
 * it then; taken away in between, it gets the save and has no name any more. A lease is held on each such file: the
 * kernel lets no one open it for writing, and says that somebody waits. They are let in, and what they have saved is
 * put beside the place it was meant for.
 *
 * A file is let go when many others have followed it, or when everything is done and PATIENCE is over: by then the
 * process that was on the way to it has arrived.
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };
#define PATIENCE_NANOSECONDS 30000000
#define MOST_PATIENCE_NANOSECONDS 300000000
/* How long somebody who was let in may take to save. */
#define ATTEMPTS 200
#define PAUSE_NANOSECONDS 3000000

struct retired {
  struct place place; /* owns its path, and a descriptor of the parent */
  struct stat status;
  int fd;
};

static struct retired files[MOST];
static size_t oldest, count;
static struct timespec newest;
static volatile sig_atomic_t wanted;

static void note_wanted(int signal_number) {
  (void)signal_number;
  wanted = 1;
}

/*
 * A file that no program can write to any more, as long as the descriptor is open: a read lease is refused where one
 * has it open for writing. -1 with EAGAIN then; -1 with 0 where it cannot be known, or does not matter: another name
 * keeps the file, or it is no file. A pipe is not opened: a process that waits at its other end would go on.
 */
int lease(const struct place *place, const char *name) {
  struct stat status;
  int fd = open_regular(place->parent, name, &status);
  errno = 0;
  if (fd < 0) return -1;
  if (status.st_nlink == 1) {
    static bool listens;
    /* What the kernel sends to the process that holds a lease that another one wants. */
    if (!listens) signal(SIGIO, note_wanted);
    listens = true;
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return fd;
  } else {
    errno = 0;
  }
  int error = errno == EAGAIN ? EAGAIN : 0;
  close(fd);
  errno = error;
  return -1;
}

bool is_wanted(int leased) {
  return fcntl(leased, F_GETLEASE) != F_RDLCK;
}

static void pause_for(long nanoseconds_long) {
  struct timespec pause = {0, nanoseconds_long};
  nanosleep(&pause, NULL);
}

/* A process that waits for the file gets it, and has closed it, or holds it for longer than a save takes. */
static void let_in(const struct retired *file) {
  if (fcntl(file->fd, F_SETLEASE, F_UNLCK) != 0) return;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    pause_for(PAUSE_NANOSECONDS);
    if (fcntl(file->fd, F_SETLEASE, F_RDLCK) == 0 || errno != EAGAIN) return;
  }
}

/*
 * Since its name went. A writer cannot put the change time back, but a save within the tick in which the name went leaves it as it is:
 * that one shows in the modification time, which was an older one.
 */
static bool is_untouched(const struct retired *file) {
  struct stat now;
  return fstat(file->fd, &now) == 0 && now.st_size == file->status.st_size && !is_racy(&now) &&
         nanoseconds(now.st_ctim) == nanoseconds(file->status.st_ctim) &&
         nanoseconds(now.st_mtim) == nanoseconds(file->status.st_mtim);
}

static void let_go(struct retired *file) {
  if (is_wanted(file->fd)) {
    let_in(file);
    if (!is_untouched(file)) save_beside(&file->place, file->fd);
  }
  close(file->fd);
  close(file->place.parent);
  free((char *)file->place.path);
  file->fd = -1;
}

static void let_oldest_go(void) {
  struct retired *file = &files[oldest];
  oldest = (oldest + 1) % MOST;
  count -= 1;
  let_go(file);
}

/* Each has two descriptors, out of a quarter of what may be open. */
static size_t most_files(void) {
  struct rlimit limit;
  size_t share = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 64 ? (limit.rlim_cur - 64) / 8 : 0;
  return share < MOST ? share : MOST;
}

void retire(const struct place *place, int leased) {
  static size_t most = SIZE_MAX;
  if (most == SIZE_MAX) most = most_files();
  if (most == 0) return (void)close(leased);
  if (count == most) let_oldest_go();
  struct retired file = {.place = *place, .fd = leased};
  char *path = copy_text(place->path);
  file.place.parent = fcntl(place->parent, F_DUPFD_CLOEXEC, 0);
  if (file.place.parent < 0 || fstat(leased, &file.status) != 0) fail(errno, "remember", place->path);
  file.place.path = path;
  file.place.name = path + strlen(path) - strlen(place->name);
  file.place.expected = NULL;
  files[(oldest + count++) % MOST] = file;
  clock_gettime(CLOCK_MONOTONIC, &newest);
}

void let_wanted_go(void) {
  if (!wanted) return;
  wanted = 0;
  while (count > 0) let_oldest_go();
}

/* On a busy machine a process that is on its way waits for its turn on a processor, too. */
static int64_t patience(void) {
  struct sysinfo about;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (sysinfo(&about) != 0 || processors < 1) return MOST_PATIENCE_NANOSECONDS;
  int64_t busy = 2 * (int64_t)about.loads[0] / processors;
  int64_t wanted_time = (PATIENCE_NANOSECONDS >> SI_LOAD_SHIFT) * busy;
  if (wanted_time < PATIENCE_NANOSECONDS) return PATIENCE_NANOSECONDS;
  return wanted_time < MOST_PATIENCE_NANOSECONDS ? wanted_time : MOST_PATIENCE_NANOSECONDS;
}

void let_retired_go(void) {
  struct timespec now;
  if (count == 0) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t left = patience() - (nanoseconds(now) - nanoseconds(newest));
  if (left > 0) pause_for((long)left);
  while (count > 0) let_oldest_go();
}
