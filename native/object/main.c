/*
 * The executable of every object: `/ctx/tool/fs.read '{"path":"README.md"}'`, or the input on stdin. It relays the call
 * to the owner of this view, over the view's own socket, prints what comes, and ends with the exit code that the owner
 * says. What a call may do is decided there: which socket it is says who calls, and this program has no right that the
 * process that starts it has not.
 *
 * Exit codes: 0 ok, 1 failed, 2 bad input, 13 not allowed, 69 unavailable, 70 a fault of ours.
 */
#include "caller-files.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_INPUT = 2, EXIT_UNAVAILABLE = 69, EXIT_INTERNAL = 70 };

static const char socket_path[] = "/run/ctx/view.sock";

static const char *name;

static int complain(int code, const char *text) {
  fprintf(stderr, "ctx: %s: %s\n", name, text);
  return code;
}

static int connected(void) {
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  /* Not in the place of a stream that its caller has closed: output would go to the owner, input come from it. */
  int opened = made > STDERR_FILENO ? made : fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (made >= 0 && opened != made) close(made);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, socket_path, sizeof socket_path);
  if (opened >= 0 && connect(opened, (struct sockaddr *)&address, sizeof address) == 0) return opened;
  if (opened >= 0) close(opened);
  return -1;
}

/*
 * A stream that does not block is shared with the process that made it so, as Node does with its own pipes: it is waited
 * for all the same.
 */
static bool may_go_on(int stream, short events) {
  if (errno == EINTR) return true;
  struct pollfd ready = {.fd = stream, .events = events};
  return errno == EAGAIN && (poll(&ready, 1, -1) >= 0 || errno == EINTR);
}

/* What is left of a frame's room after the paths is as much input as there may be. */
static ssize_t read_input(char *into, size_t room) {
  size_t had = 0;
  while (had < room) {
    ssize_t got = read(STDIN_FILENO, into + had, room - had);
    if (got < 0 && may_go_on(STDIN_FILENO, POLLIN)) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    had += (size_t)got;
  }
  return (ssize_t)had;
}

static bool print_whole(int stream, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(stream, bytes, size);
    if (written < 0 && may_go_on(stream, POLLOUT)) continue;
    if (written < 0) return false;
    bytes += written;
    size -= (size_t)written;
  }
  return true;
}

static int relay(int owner, struct frame *frame, char *reply) {
  while (receive_frame(owner, frame, FRAME_MOST)) {
    switch (frame->kind) {
    case KIND_OUTPUT:
      if (!print_whole(STDOUT_FILENO, frame->payload, frame->size)) return complain(1, strerror(errno));
      break;
    case KIND_ERROR:
      print_whole(STDERR_FILENO, frame->payload, frame->size);
      break;
    case KIND_FILE:
      if (!send_frame(owner, KIND_DONE, reply, do_to_file(frame->payload, frame->size, reply)))
        return complain(EXIT_UNAVAILABLE, "the process that serves this view has ended");
      break;
    case KIND_EXIT:
      return frame->size == 1 ? (unsigned char)frame->payload[0]
                              : complain(EXIT_INTERNAL, "an answer without an exit code");
    default:
      return complain(EXIT_INTERNAL, "an answer that this program does not know");
    }
  }
  return complain(EXIT_UNAVAILABLE, "the process that serves this view has ended, or the call was cancelled");
}

int main(int count, char **words) {
  static char path[PATH_MAX], directory[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) snprintf(path, sizeof path, "%s", count > 0 ? words[0] : "");
  name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  if (count > 2 || (count == 2 && (!strcmp(words[1], "--help") || !strcmp(words[1], "-h")))) {
    fprintf(count > 2 ? stderr : stdout, "usage: %s JSON, or JSON on stdin; %s.d/schema describes it\n", path, path);
    return count > 2 ? EXIT_INPUT : 0;
  }
  if (!getcwd(directory, sizeof directory)) return complain(1, "the working directory was deleted");
  struct frame frame = {.payload = malloc(FRAME_MOST)};
  char *reply = malloc(FRAME_MOST);
  if (!frame.payload || !reply) return complain(EXIT_INTERNAL, "no memory");
  int owner = connected();
  if (owner < 0)
    return complain(EXIT_UNAVAILABLE, "no process serves this view; outside a jail, use: ctx tool call");
  char *at = stpcpy(frame.payload, path) + 1;
  at = stpcpy(at, directory) + 1;
  const char *given = count == 2 ? words[1] : NULL;
  ssize_t size = given ? (ssize_t)strlen(given) : isatty(STDIN_FILENO) ? 0 : read_input(at, INPUT_MOST + 1);
  if (size < 0) return complain(EXIT_INPUT, "the input cannot be read");
  if (size > INPUT_MOST) return complain(EXIT_INPUT, "expected an input of at most 1 MiB");
  if (given) memcpy(at, given, (size_t)size);
  if (!send_frame(owner, KIND_CALL, frame.payload, (size_t)(at - frame.payload + size)))
    return complain(EXIT_UNAVAILABLE, "the process that serves this view has ended");
  return relay(owner, &frame, reply);
}
