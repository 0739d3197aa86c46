/*
 * What a keeper needs of the kernel and Node has not. Each function returns a number; an errno is below zero.
 *
 * hold(descriptor): no program that is started gets it.
 *
 * listen(directory, name): makes a socket of that name in the directory of this descriptor.
 *
 * close(): takes no further call.
 *
 * next(bytes, milliseconds): waits for a call. Returns the length of its request, which is in `bytes` behind a head of
 * the caller's process (i32) and its standard streams that are terminals (u8, a bit each, and 8 where the caller
 * carries the person's terminal); 0 where none came; -EINTR for SIGTERM.
 *
 * refuse(): lets it run what it asks for itself.
 *
 * make(): a copy that waits for a call: its process, and 0 in it.
 *
 * drop(): ends that copy.
 *
 * give(): has that copy run the call. Refuses it where that cannot be.
 *
 * await(bytes): in that copy, waits for the call, and returns as `next` does.
 *
 * become(bytes, from, to): there, takes the caller's directory, streams and environment (the strings from, to), and
 * returns its own process when the caller is ready, too.
 *
 * terminal(): in a process that runs a call, a new descriptor of the channel to the process that carries the person's
 * terminal; -ENOTTY where none does.
 *
 * typed(): there, a new socket, by which comes what is typed at the terminal from here on.
 *
 * running(): calls that run. followed(): those of them whose caller is there still.
 *
 * priority(process): its input and output priority, as the kernel has it.
 *
 * alike(process, other, fields, files, namespaces): 1 where both give the same to what they start, by these names, each
 * with a space before and behind it; 0 where that is not to be seen at once.
 *
 * expectPages(), learnPages(): a copy that is made by `try` after the first, and has run calls, says by the second which
 * pages these used; the copies of `make` have them ready.
 *
 * try(): a process that runs no call: the process, and 0 in it.
 *
 * tried(process, milliseconds): its exit code; -ETIME where it does not end, and it is killed then.
 *
 * end(code): ends the process of a call.
 *
 * endWhenIdle(code): ends it when nothing is left to do, as Node does.
 */
#include "alike.h"
#include "calls.h"
#include "exports.h"
#include "pages.h"
#include "process.h"
#include "spare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAD = sizeof(int32_t) + 1, IOPRIO_WHO_PROCESS = 1, CARRIED = 8 };

static struct asking asking = {.connection = -1};

static size_t arguments(napi_env env, napi_callback_info info, napi_value *values, size_t most) {
  size_t count = most;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  return count;
}

static napi_value listen_now(napi_env env, napi_callback_info info) {
  napi_value values[2];
  char name[64];
  size_t length = 0;
  if (arguments(env, info, values, 2) != 2 ||
      napi_get_value_string_utf8(env, values[1], name, sizeof name, &length) != 0)
    return number_to_node(env, -EINVAL);
  return number_to_node(env, -calls_listen(number_of(env, values[0]), name));
}

static napi_value hold(napi_env env, napi_callback_info info) {
  napi_value value;
  if (arguments(env, info, &value, 1) != 1) return number_to_node(env, -EINVAL);
  return number_to_node(env, fcntl(number_of(env, value), F_SETFD, FD_CLOEXEC) == 0 ? 0 : -errno);
}

static napi_value close_now(napi_env env, napi_callback_info info) {
  (void)info;
  calls_close();
  return number_to_node(env, 0);
}

static void settle(pid_t process) {
  if (asking.connection >= 0) calls_settle(&asking, process);
  asking.connection = -1;
}

/* Of a file that does not change any more: it is read here to be judged, and by the copy that runs it. */
static int32_t read_request(char *bytes, size_t room) {
  struct stat about;
  const int file = asking.descriptors[SENT_REQUEST];
  const int needed = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK, seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & needed) != needed) return -EPERM;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0 || (size_t)about.st_size > room - HEAD)
    return -E2BIG;
  const ssize_t size = pread(file, bytes + HEAD, (size_t)about.st_size, 0);
  if (size != about.st_size || bytes[HEAD + size - 1] != 0) return -EINVAL;
  const int32_t peer = asking.peer;
  memcpy(bytes, &peer, sizeof peer);
  bytes[sizeof peer] = 0;
  for (int i = 0; i < 3; i++)
    if (isatty(asking.descriptors[SENT_INPUT + i])) bytes[sizeof peer] |= (char)(1 << i);
  if (is_socket(asking.descriptors[SENT_TERMINAL])) bytes[sizeof peer] |= CARRIED;
  return (int32_t)(HEAD + size);
}

static napi_value next(napi_env env, napi_callback_info info) {
  napi_value values[2];
  void *bytes = NULL;
  size_t room = 0;
  if (arguments(env, info, values, 2) != 2 || napi_get_buffer_info(env, values[0], &bytes, &room) != 0 || room <= HEAD)
    return number_to_node(env, -EINVAL);
  settle(0);
  const enum next what = calls_next(number_of(env, values[1]), &asking);
  if (what != NEXT_REQUEST) {
    asking.connection = -1;
    return number_to_node(env, what == NEXT_STOP ? -EINTR : 0);
  }
  const int32_t size = read_request(bytes, room);
  if (size < 0) settle(0);
  return number_to_node(env, size < 0 ? 0 : size);
}

static napi_value refuse(napi_env env, napi_callback_info info) {
  (void)info;
  settle(0);
  return number_to_node(env, 0);
}

static struct uv_loop_s *loop_of(napi_env env) {
  struct uv_loop_s *loop = NULL;
  return napi_get_uv_event_loop(env, &loop) == 0 ? loop : NULL;
}

static napi_value make(napi_env env, napi_callback_info info) {
  (void)info;
  struct uv_loop_s *loop = loop_of(env);
  return number_to_node(env, loop ? spare_make(loop, &asking) : -EINVAL);
}

static napi_value drop(napi_env env, napi_callback_info info) {
  (void)info;
  spare_drop();
  return number_to_node(env, 0);
}

static napi_value give(napi_env env, napi_callback_info info) {
  (void)info;
  const int error = asking.connection < 0 ? -EINVAL : spare_give(&asking);
  if (error != 0) settle(0);
  asking.connection = -1;
  return number_to_node(env, error);
}

static napi_value await(napi_env env, napi_callback_info info) {
  napi_value value;
  void *bytes = NULL;
  size_t room = 0;
  if (arguments(env, info, &value, 1) != 1 || napi_get_buffer_info(env, value, &bytes, &room) != 0 || room <= HEAD)
    return number_to_node(env, -EINVAL);
  spare_wait(&asking);
  return number_to_node(env, read_request(bytes, room));
}

static napi_value become(napi_env env, napi_callback_info info) {
  napi_value values[3];
  void *bytes = NULL;
  size_t room = 0;
  if (arguments(env, info, values, 3) != 3 || napi_get_buffer_info(env, values[0], &bytes, &room) != 0)
    return number_to_node(env, -EINVAL);
  const int32_t from = number_of(env, values[1]), to = number_of(env, values[2]);
  if (asking.connection < 0 || from < 0 || to < from || (size_t)to > room ||
      (to > from && ((char *)bytes)[to - 1] != 0))
    return number_to_node(env, -EINVAL);
  process_become(&asking, (const char *)bytes + from, (size_t)(to - from));
  return number_to_node(env, getpid());
}

static napi_value terminal(napi_env env, napi_callback_info info) {
  (void)info;
  return number_to_node(env, process_terminal());
}

static napi_value typed(napi_env env, napi_callback_info info) {
  (void)info;
  return number_to_node(env, process_typed());
}

static napi_value running(napi_env env, napi_callback_info info) {
  (void)info;
  return number_to_node(env, calls_running());
}

static napi_value followed(napi_env env, napi_callback_info info) {
  (void)info;
  return number_to_node(env, calls_followed());
}

static napi_value priority(napi_env env, napi_callback_info info) {
  napi_value value;
  if (arguments(env, info, &value, 1) != 1) return number_to_node(env, -EINVAL);
  const long found = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, number_of(env, value));
  return number_to_node(env, found < 0 ? -errno : (int32_t)found);
}

static napi_value compare(napi_env env, napi_callback_info info) {
  enum { ONE, OTHER, FIELDS, FILES, NAMESPACES, GIVEN, NAMES = 1024 };
  napi_value values[GIVEN];
  char names[GIVEN][NAMES];
  if (arguments(env, info, values, GIVEN) != GIVEN) return number_to_node(env, 0);
  for (int i = FIELDS; i < GIVEN; i++) {
    size_t length = 0;
    /* What has no room would be cut off, and not be compared. */
    if (napi_get_value_string_utf8(env, values[i], names[i], NAMES, &length) != 0 || length >= NAMES - 1)
      return number_to_node(env, 0);
  }
  const struct traits traits = {.fields = names[FIELDS], .files = names[FILES], .namespaces = names[NAMESPACES]};
  return number_to_node(env, alike(number_of(env, values[ONE]), number_of(env, values[OTHER]), &traits));
}

static napi_value expect_pages(napi_env env, napi_callback_info info) {
  (void)info;
  return number_to_node(env, pages_expect() ? 0 : -ENOMEM);
}

static napi_value learn_pages(napi_env env, napi_callback_info info) {
  (void)info;
  pages_learn();
  return number_to_node(env, 0);
}

static napi_value try_now(napi_env env, napi_callback_info info) {
  (void)info;
  struct uv_loop_s *loop = loop_of(env);
  const pid_t process = loop ? process_copy(loop) : -1;
  if (process == 0) calls_forget();
  return number_to_node(env, process < 0 ? -EAGAIN : process);
}

static napi_value tried(napi_env env, napi_callback_info info) {
  napi_value values[2];
  int status = 0;
  if (arguments(env, info, values, 2) != 2) return number_to_node(env, -EINVAL);
  const pid_t process = number_of(env, values[0]);
  struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
  if (process <= 0 || end.fd < 0) return number_to_node(env, -EINVAL);
  const bool ended = poll(&end, 1, number_of(env, values[1])) == 1;
  close(end.fd);
  if (!ended) kill(process, SIGKILL);
  if (waitpid(process, &status, 0) != process) return number_to_node(env, -errno);
  if (!ended) return number_to_node(env, -ETIME);
  return number_to_node(env, WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD);
}

static napi_value end(napi_env env, napi_callback_info info) {
  napi_value value;
  process_end(arguments(env, info, &value, 1) == 1 ? number_of(env, value) & 0xff : 70);
}

static napi_value end_when_idle(napi_env env, napi_callback_info info) {
  napi_value value;
  struct uv_loop_s *loop = loop_of(env);
  const int code = arguments(env, info, &value, 1) == 1 ? number_of(env, value) & 0xff : 70;
  if (!loop) process_end(code);
  process_end_when_idle(loop, code);
  return number_to_node(env, 0);
}

EXPORTS({"hold", hold}, {"listen", listen_now}, {"close", close_now}, {"next", next}, {"refuse", refuse},
        {"make", make}, {"drop", drop}, {"give", give}, {"await", await}, {"become", become}, {"terminal", terminal},
        {"typed", typed}, {"running", running},
        {"followed", followed}, {"priority", priority}, {"alike", compare}, {"expectPages", expect_pages},
        {"learnPages", learn_pages}, {"try", try_now}, {"tried", tried}, {"end", end}, {"endWhenIdle", end_when_idle})
