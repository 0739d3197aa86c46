/*
 * exchange WATCHED LEFT RIGHT FIRST: whenever something is opened or made in WATCHED, from event number FIRST on, the
 * names LEFT and RIGHT change places, as another user would who waits for the right moment. With `?` for LEFT it is the
 * name of what was opened or made. Ends with its standard input; says how often.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words) {
  if (count != 5) return 2;
  _Alignas(struct inotify_event) char events[4096];
  long first = atol(words[4]), seen = 0, exchanged = 0;
  int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch < 0 || inotify_add_watch(watch, words[1], IN_OPEN | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) return 3;
  if (write(1, "ready\n", 6) != 6) return 4;
  for (;;) {
    struct pollfd ready[2] = {{watch, POLLIN, 0}, {0, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) return 5;
    if (ready[1].revents) break;
    if (read(watch, events, sizeof events) <= 0 || seen++ < first) continue;
    const struct inotify_event *event = (const struct inotify_event *)events;
    const char *left = words[2][0] != '?' ? words[2] : event->len > 0 ? event->name : ".";
    if (syscall(SYS_renameat2, AT_FDCWD, left, AT_FDCWD, words[3], 2) == 0) exchanged++;
  }
  printf("%ld\n", exchanged);
  return 0;
}
