/*
 * Later times in the same order. What comes into a directory from elsewhere changes there now, whenever it was written:
 * a program that compares times has to see it as newer than all that was built there before. Among themselves the
 * entries keep their order, equal ones stay equal, and none is given a time in the future.
 */
#include "tree.h"

#include <stdlib.h>
#include <time.h>

/* What the kernel stamps writes with: the time of its last tick. */
static int64_t tick(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return nanoseconds(now);
}

/* Some kernels stamp more finely than they tick: not before either clock has come so far. */
static int64_t latest(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

/* A file may have a time that no count of nanoseconds reaches, before 1678 or after 2262: it is the first, or the last. */
static int64_t place_in_order(struct timespec time) {
  const int64_t most = INT64_MAX / 1000000000 - 1;
  return time.tv_sec > most ? INT64_MAX : time.tv_sec < -most ? INT64_MIN : nanoseconds(time);
}

void count_time(struct order *order, struct timespec time) {
  if (order->count == order->room) {
    order->room = order->room * 2 + 64;
    order->times = reallocate(order->times, order->room * sizeof *order->times);
  }
  order->times[order->count++] = place_in_order(time);
}

static int ascending(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

/*
 * A write that follows is stamped with a tick: it must not look older than what was given a time here. One tick comes after
 * the other within milliseconds, unless the clock was set back meanwhile: that is not waited for.
 */
static void wait_for_tick(int64_t last) {
  enum { MOST_MILLISECONDS = 100 };
  for (int waited = 0; waited < MOST_MILLISECONDS && tick() <= last; waited++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void close_order(struct order *order, int64_t after) {
  if (order->count > 1) qsort(order->times, order->count, sizeof *order->times, ascending);
  size_t kept = 0;
  for (size_t i = 0; i < order->count; i++)
    if (kept == 0 || order->times[kept - 1] != order->times[i]) order->times[kept++] = order->times[i];
  order->count = kept;
  order->after = after > 0 ? after : latest();
  wait_for_tick(order->after + (int64_t)kept);
}

struct timespec later_time(const struct order *order, struct timespec time) {
  int64_t key = place_in_order(time);
  const int64_t *found = bsearch(&key, order->times, order->count, sizeof key, ascending);
  int64_t given = order->after + 1 + (found == NULL ? 0 : found - order->times);
  return (struct timespec){given / 1000000000, given % 1000000000};
}
