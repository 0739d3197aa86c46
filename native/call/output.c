#include "output.h"
#include "relay-bytes.h"

struct pollfd output_wants(const struct output *output) {
  return (struct pollfd){.fd = output->left > 0 ? output->stream : -1, .events = POLLOUT};
}

/* Once each: a stream on which nothing is written stays the caller's. */
static void open_anew(int stream) {
  static bool done[3];
  if (done[stream]) return;
  done[stream] = true;
  int processes = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  relay_open_anew(processes, stream);
  if (processes >= 0) close(processes);
}

bool output_write(struct output *output) {
  if (output->left == 0) return true;
  open_anew(output->stream);
  const ssize_t written = relay_write(output->stream, output->bytes, output->left);
  if (written < 0) return errno == EAGAIN || errno == EINTR;
  output->bytes += written;
  output->left -= (size_t)written;
  return true;
}
