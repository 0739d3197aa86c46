/*
 * Node starts ten threads before it runs a line of ours. Where it may not, it waits for ever or aborts, and no one
 * knows why. So where few processes are allowed, as many threads as ctx needs are started here first. Their number is
 * tried, not computed: who counts, and for whom no limit holds, is the kernel's to say.
 */
#include "room.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

/* Node, its pool, and the processes of a jail: with 20 a kept jail starts, or says what it lacks. */
enum { NEEDED = 20, PLENTY = 1000 };

static pthread_mutex_t all_are_there = PTHREAD_MUTEX_INITIALIZER;

static void *stand(void *nothing) {
  pthread_mutex_lock(&all_are_there);
  pthread_mutex_unlock(&all_are_there);
  return nothing;
}

static int count_threads(void) {
  pthread_t threads[NEEDED];
  pthread_attr_t small;
  int count = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  pthread_mutex_lock(&all_are_there);
  while (count < NEEDED && pthread_create(&threads[count], &small, stand, NULL) == 0) count++;
  pthread_mutex_unlock(&all_are_there);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return count;
}

bool has_room_for_node(void) {
  struct rlimit processes;
  if (getrlimit(RLIMIT_NPROC, &processes) != 0 || processes.rlim_cur >= PLENTY) return true;
  const int count = count_threads();
  if (count == NEEDED) return true;
  fprintf(stderr,
          "ctx: start Node: expected room for %d processes and threads, got %d: you may have %llu in all (EAGAIN)\n"
          "  try: raise that limit (ulimit -u, in dash ulimit -p), or end other processes of yours\n",
          NEEDED, count, (unsigned long long)processes.rlim_cur);
  return false;
}
