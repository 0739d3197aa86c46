/* Bytes from one descriptor to another, as far as there is room: streams of a command, and a person's terminal. */
#ifndef CTX_RELAY_BYTES_H
#define CTX_RELAY_BYTES_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
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
    ssize_t written = write(relay->to, relay->bytes + relay->start, relay->stop - relay->start);
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

/* Everything inside is dead: what it wrote last is still in the pipes. */
static inline void relays_drain(struct relay relays[RELAYS]) {
  for (int i = 1; i < RELAYS; i++) {
    if (relays[i].from >= 0) fcntl(relays[i].from, F_SETFL, 0);
    while (relays[i].from >= 0) {
      struct pollfd wanted = relay_wants(&relays[i]);
      if (poll(&wanted, 1, -1) < 0 && errno != EINTR) break;
      relay_move(relays, i);
    }
  }
}

/* What was read and not written is given up. */
static inline void relays_stop(struct relay relays[RELAYS]) {
  for (int i = 0; i < RELAYS; i++)
    if (relays[i].from >= 0) relay_end(&relays[i], i);
}

#endif
