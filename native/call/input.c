#include "input.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void input_send(struct input *input, int socket) {
  if (!input->wanted || (input->size == 0 && !input->ended)) return;
  send_frame(socket, KIND_INPUT, input->bytes, input->size);
  input->wanted = false;
  input->size = 0;
}

static int64_t milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Of a key that is held down. */
enum { ONE_KEY_MILLISECONDS = 250 };

bool input_take(struct input *input, const struct person_terminal *terminal) {
  char *new = input->bytes + input->size;
  const ssize_t got = read(0, new, sizeof input->bytes - input->size);
  /* Somebody who shares a stdin that does not block may have read what there was: that is not its end. */
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  input->ended = got <= 0;
  if (got <= 0) return false;
  input->size += (size_t)got;
  if (!terminal || !memchr(new, terminal->saved.c_cc[VINTR], (size_t)got)) return false;
  const int64_t before = input->interrupted;
  input->interrupted = milliseconds_now();
  return input->interrupted - before >= ONE_KEY_MILLISECONDS;
}
