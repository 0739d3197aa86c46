/* Times of files, and how long until one of them can be trusted. */
#include "core/core.h"

#include <errno.h>
#include <time.h>

/* Times are kept at the kernel's tick (up to 10 ms): a change within the same tick would not show. */
#define RACY_NANOSECONDS 20000000
/* Some filesystems keep whole seconds, FAT every other one. */
#define RACY_SECONDS 2

int64_t nanoseconds(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t age(const struct stat *status) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now) - nanoseconds(status->st_ctim);
}

bool keeps_seconds(const struct stat *status) {
  return status->st_ctim.tv_nsec == 0;
}

static int64_t racy_for(const struct stat *status) {
  return RACY_NANOSECONDS + (keeps_seconds(status) ? (int64_t)RACY_SECONDS * 1000000000 : 0);
}

/* Only the change time counts: the modification time is the writer's to set. One in the future is a clock's jump. */
bool is_racy(const struct stat *status) {
  int64_t old = age(status);
  return old < racy_for(status) && old > -RACY_NANOSECONDS;
}

static void nap(int64_t length) {
  struct timespec rest = {0, length};
  if (length <= 0 || length > 2 * RACY_NANOSECONDS) return;
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
}

void nap_until_trusted(const struct stat *status) {
  nap(racy_for(status) - age(status));
}

void nap_in_full(void) {
  nap(RACY_NANOSECONDS);
}
