/*
 * A call that waits for a lock has no time limit, and is ended by a signal. So a timer sends one to this thread alone,
 * and again and again: the first may come just before the call begins. The signal has a handler of ours only while this
 * waits.
 */
#include "wait.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* After the time is over, the next signal comes so many nanoseconds later. */
enum { again = 20 * 1000 * 1000 };
/* Between two looks, where there is no timer. */
enum { nap = 2 * 1000 * 1000 };

static int64_t now_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wake_up(int number) {
  (void)number;
}

struct alarm {
  int timer; /* as the kernel names it: an older C library has these calls elsewhere */
  int number;
  struct sigaction former;
  sigset_t mask;
};

static bool set_alarm(struct alarm *alarm, int64_t nanoseconds) {
  struct sigaction action = {.sa_handler = wake_up}; /* no SA_RESTART: the call ends */
  sigset_t own;
  alarm->number = SIGRTMAX - 1;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = alarm->number};
  event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
  struct itimerspec when = {{0, again}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
  sigemptyset(&own);
  sigaddset(&own, alarm->number);
  if (sigaction(alarm->number, &action, &alarm->former) != 0) return false;
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &alarm->timer) != 0) {
    sigaction(alarm->number, &alarm->former, NULL);
    return false;
  }
  pthread_sigmask(SIG_UNBLOCK, &own, &alarm->mask);
  syscall(SYS_timer_settime, alarm->timer, 0, &when, NULL);
  return true;
}

/* A signal that is on its way has come when the timer is gone, since it is not blocked. */
static void unset_alarm(struct alarm *alarm) {
  syscall(SYS_timer_delete, alarm->timer);
  pthread_sigmask(SIG_SETMASK, &alarm->mask, NULL);
  sigaction(alarm->number, &alarm->former, NULL);
}

int64_t end_after(int32_t milliseconds) {
  return now_nanoseconds() + (int64_t)milliseconds * 1000000;
}

int get_until(int64_t end, int descriptor, int (*attempt)(int descriptor, bool waits)) {
  struct alarm alarm;
  int number = attempt(descriptor, false);
  int64_t left = number == EAGAIN ? end - now_nanoseconds() : 0;
  if (left <= 0) return number;
  bool waits = set_alarm(&alarm, left);
  do {
    number = attempt(descriptor, waits);
    if (number == EAGAIN) nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
  } while ((number == EAGAIN || number == EINTR) && now_nanoseconds() < end);
  if (waits) unset_alarm(&alarm);
  return number == EINTR ? EAGAIN : number;
}
