/* What is to go to stdout and has not gone yet. Below `errors`, which puts it out before it ends the program. */
#include "core/core.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t length) {
  const char *rest = bytes;
  while (length > 0) {
    ssize_t written = write(fd, rest, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest += written;
    length -= (size_t)written;
  }
  return 0;
}

static struct buffer pending;

size_t add_pending(const void *bytes, size_t length) {
  append(&pending, bytes, length);
  return pending.length;
}

int write_pending(void) {
  int error = write_all(STDOUT_FILENO, pending.data, pending.length);
  pending.length = 0;
  return error;
}

void put_out_rest(void) {
  (void)write_pending();
}
