/* Bytes from one descriptor to another, as far as there is room: streams of a command, and a person's terminal. */
#ifndef CTX_RELAY_BYTES_H
#define CTX_RELAY_BYTES_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RELAYS = 3, RELAY_BYTES = 64 << 10 };

/* One of the three streams, copied where it cannot be passed on. `from` is -1 where nothing is, or is left, to copy. */
struct relay {
  int from, to, command_end;
  bool both_ours; /* else one of them is a stream of this process itself, and stays open */
  size_t start, stop;
  int error; /* what its reader answered, where that was neither a write nor the end of a reader */
  char bytes[RELAY_BYTES];
};

/* Copies nothing. Its bytes are left alone: writing 64 KiB costs more than all the rest. */
static inline void relay_clear(struct relay *relay) {
  relay->from = relay->to = relay->command_end = -1;
  relay->both_ours = false;
  relay->start = relay->stop = 0;
  relay->error = 0;
}

/*
 * Before a stream of this process is written to: a pipe or terminal is opened anew, so that a write takes what there is
 * room for and does not wait. Whoever shares the person's own goes on waiting. Where it may not be opened (another
 * user's) it stays as it is. `processes` is a descriptor of /proc.
 */
static inline void relay_open_anew(int processes, int stream) {
  char path[32];
  struct stat about;
  if (fstat(stream, &about) != 0 || (!S_ISFIFO(about.st_mode) && !isatty(stream))) return;
  snprintf(path, sizeof path, "self/fd/%d", stream);
  int anew = openat(processes, path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (anew < 0) return;
  dup2(anew, stream);
  close(anew);
}

/* As much as there is room for; of a socket that is the call's to say, and not the open file's. */
static inline ssize_t relay_write(int to, const char *bytes, size_t size) {
  ssize_t written = send(to, bytes, size, MSG_DONTWAIT);
  return written < 0 && errno == ENOTSOCK ? write(to, bytes, size) : written;
}

static inline struct pollfd relay_wants(const struct relay *relay) {
  if (relay->from < 0) return (struct pollfd){.fd = -1};
  if (relay->start < relay->stop) return (struct pollfd){.fd = relay->to, .events = POLLOUT};
  return (struct pollfd){.fd = relay->from, .events = POLLIN};
}

static inline void relay_end(struct relay *relay, int index) {
  if (index == 0 || relay->both_ours) close(relay->to);
  if (index != 0 || relay->both_ours) close(relay->from);
  relay->from = relay->to = -1;
}

/* A reader that has gone is quiet, as in every pipeline: a pipe, a socket, a terminal that was hung up. */
static inline bool relay_reader_gone(int descriptor, int error) {
  struct stat about;
  if (error == EPIPE || error == ECONNRESET) return true;
  return error == EIO && fstat(descriptor, &about) == 0 && S_ISCHR(about.st_mode);
}

static inline void relay_move(struct relay relays[RELAYS], int index) {
  struct relay *relay = &relays[index];
  if (relay->start < relay->stop) {
    ssize_t written = relay_write(relay->to, relay->bytes + relay->start, relay->stop - relay->start);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written < 0) {
      if (index != 0 && !relay_reader_gone(relay->to, errno)) relay->error = errno;
      return relay_end(relay, index); /* the command gets SIGPIPE from its own pipe */
    }
    relay->start += (size_t)written;
    return;
  }
  ssize_t got = read(relay->from, relay->bytes, sizeof relay->bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return relay_end(relay, index);
  relay->start = 0;
  relay->stop = (size_t)got;
}

/* More than a pipe or a terminal holds; and how long a reader is waited for that nobody else waits for. */
enum { DRAIN_MOST_READS = 512, DRAIN_MILLISECONDS = 200 };

/*
 * Everything inside is dead, and what it wrote last is in the pipes. A process elsewhere that was given an end of one is
 * not waited for. A reader is, however slow, until `end` is readable: then only one that takes something.
 */
static inline void relays_drain(struct relay relays[RELAYS], int end) {
  for (int i = 1; i < RELAYS; i++)
    for (int reads = 0; relays[i].from >= 0;) {
      struct pollfd watched[] = {relay_wants(&relays[i]), {.fd = end, .events = POLLIN}};
      const bool writes = watched[0].events == POLLOUT;
      const int ready = poll(watched, 2, !writes ? 0 : end < 0 ? DRAIN_MILLISECONDS : -1);
      if (ready < 0 && errno == EINTR) continue;
      if (ready > 0 && watched[1].revents)
        end = -1;
      else if (ready > 0 && (writes || reads++ < DRAIN_MOST_READS))
        relay_move(relays, i);
      else
        relay_end(&relays[i], i);
    }
}

/* What was read and not written is given up. */
static inline void relays_stop(struct relay relays[RELAYS]) {
  for (int i = 0; i < RELAYS; i++)
    if (relays[i].from >= 0) relay_end(&relays[i], i);
}

#endif
