/*
 * What serving FUSE needs of the kernel and Node has not.
 *
 * pair() returns two connected sockets, [ours, theirs]; receive(socket) the descriptor that comes over one, or a
 * negative errno, EMFILE where it came and there was no room for it: that is how fusermount3 hands over /dev/fuse. With a buffer as its second argument, the bytes that come
 * with it, as many as the buffer has. wait(descriptor, milliseconds) returns 1 where
 * something can be read, 0 where nothing came, or a negative errno; EINTR is one, so that signals are seen.
 *
 * listen(path) returns a socket that listens there, or a negative errno.
 *
 * watch(descriptor, callback) calls back from Node's event loop whenever something can be read, and returns a function
 * that ends that; the caller closes the descriptor after it, not before. It keeps no process alive.
 */
#include "exports.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/*
 * Looked for again and again for so long before the thread sleeps: waking it costs more than most requests take. Where
 * that was in vain the next waits sleep at once, twice as many each time: the process that asks may need this processor.
 */
enum { spin_nanoseconds = 20 * 1000, fewest_sleeps = 2, most_sleeps = 256 };
static _Thread_local int sleeps_after_vain = fewest_sleeps, sleeps_left;

static napi_value pair(napi_env env, napi_callback_info info) {
  (void)info;
  int sockets[2] = {-1, -1};
  /* Theirs is inherited by number, so Node takes the flag off that one. */
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return number_to_node(env, -errno);
  napi_value result = NULL;
  napi_create_array_with_length(env, 2, &result);
  napi_set_element(env, result, 0, number_to_node(env, sockets[0]));
  napi_set_element(env, result, 1, number_to_node(env, sockets[1]));
  return result;
}

/* What came with a message that is refused: one that was sent in vain would stay open here for good. */
static void close_all(struct msghdr *message) {
  for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(head) + at, sizeof descriptor);
      close(descriptor);
    }
  }
}

static int received(int socket, void *bytes, size_t length) {
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
  struct iovec part = {.iov_base = bytes, .iov_len = length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  ssize_t count;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  /* The kernel has dropped it: this process has no number left for it. */
  if (count == (ssize_t)length && !head && message.msg_flags & MSG_CTRUNC) return -EMFILE;
  if (count != (ssize_t)length || !head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof(int)) || message.msg_flags & MSG_CTRUNC) {
    close_all(&message);
    return -EPROTO;
  }
  int descriptor;
  memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  return descriptor;
}

static int64_t now_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int waited(int descriptor, int milliseconds) {
  struct pollfd look = {.fd = descriptor, .events = POLLIN};
  int found = poll(&look, 1, 0);
  if (found != 0) return found < 0 ? -errno : 1;
  if (sleeps_left > 0) {
    sleeps_left -= 1;
  } else {
    int64_t end = now_nanoseconds() + spin_nanoseconds;
    do {
      found = poll(&look, 1, 0);
      if (found == 0) continue;
      if (sleeps_after_vain > fewest_sleeps) sleeps_after_vain /= 2;
      return found < 0 ? -errno : 1;
    } while (now_nanoseconds() < end);
    sleeps_left = sleeps_after_vain;
    if (sleeps_after_vain < most_sleeps) sleeps_after_vain *= 2;
  }
  found = poll(&look, 1, milliseconds);
  return found < 0 ? -errno : found;
}

static napi_value receive(napi_env env, napi_callback_info info) {
  size_t count = 2, length = 1;
  napi_value arguments[2] = {NULL};
  char byte;
  void *bytes = &byte;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count > 1 && (napi_get_buffer_info(env, arguments[1], &bytes, &length) != 0 || length == 0))
    return number_to_node(env, -EINVAL);
  return number_to_node(env, received(count < 1 ? -1 : number_of(env, arguments[0]), bytes, length));
}

static napi_value await_input(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2] = {NULL, NULL};
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count < 2) return number_to_node(env, -EINVAL);
  return number_to_node(env, waited(number_of(env, arguments[0]), number_of(env, arguments[1])));
}

static napi_value listen_at(napi_env env, napi_callback_info info) {
  size_t count = 1, length = 0;
  napi_value argument = NULL;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  if (count < 1 || napi_get_value_string_utf8(env, argument, NULL, 0, &length) != 0)
    return number_to_node(env, -EINVAL);
  if (length >= sizeof address.sun_path) return number_to_node(env, -ENAMETOOLONG);
  napi_get_value_string_utf8(env, argument, address.sun_path, sizeof address.sun_path, &length);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return number_to_node(env, -errno);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 128) == 0)
    return number_to_node(env, listener);
  int failed = -errno;
  close(listener);
  return number_to_node(env, failed);
}

/* Of libuv, which is part of Node; its handles are known by their size alone. */
enum { uv_poll_kind = 8, uv_readable = 1, uv_disconnect = 4 };
extern size_t uv_handle_size(int kind);
extern int uv_poll_init(struct uv_loop_s *loop, void *handle, int descriptor);
extern int uv_poll_start(void *handle, int events, void (*called)(void *handle, int status, int events));
extern int uv_poll_stop(void *handle);
extern void uv_unref(void *handle);
extern void uv_close(void *handle, void (*closed)(void *handle));
extern void uv_handle_set_data(void *handle, void *data);
extern void *uv_handle_get_data(const void *handle);

struct watch {
  napi_env env;
  napi_ref callback;
  napi_async_context context;
  int stopped;
};

static void readable(void *handle, int status, int events) {
  (void)status;
  (void)events;
  struct watch *watch = uv_handle_get_data(handle);
  napi_handle_scope scope = NULL;
  napi_value callback = NULL, receiver = NULL;
  if (napi_open_handle_scope(watch->env, &scope) != 0) return;
  if (napi_get_reference_value(watch->env, watch->callback, &callback) == 0 && callback &&
      napi_get_global(watch->env, &receiver) == 0) {
    napi_value result = NULL;
    napi_make_callback(watch->env, watch->context, receiver, callback, 0, NULL, &result);
  }
  napi_close_handle_scope(watch->env, scope);
}

static void closed(void *handle) {
  struct watch *watch = uv_handle_get_data(handle);
  napi_delete_reference(watch->env, watch->callback);
  napi_async_destroy(watch->env, watch->context);
  free(watch);
  free(handle);
}

static napi_value stop_watching(napi_env env, napi_callback_info info) {
  void *handle = NULL;
  napi_get_cb_info(env, info, NULL, NULL, NULL, &handle);
  struct watch *watch = uv_handle_get_data(handle);
  if (watch->stopped) return number_to_node(env, 0);
  watch->stopped = 1;
  uv_poll_stop(handle);
  uv_close(handle, closed);
  return number_to_node(env, 0);
}

static napi_value watch_input(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2] = {NULL, NULL};
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  struct uv_loop_s *loop = NULL;
  if (count < 2 || napi_get_uv_event_loop(env, &loop) != 0) return number_to_node(env, -EINVAL);
  struct watch *watch = calloc(1, sizeof *watch);
  void *handle = calloc(1, uv_handle_size(uv_poll_kind));
  napi_value name = NULL, stop = NULL;
  napi_create_string_utf8(env, "ctx.watch", 9, &name);
  int failed = !watch || !handle ? -ENOMEM : 0;
  if (!failed) failed = uv_poll_init(loop, handle, number_of(env, arguments[0]));
  if (failed) {
    free(watch);
    free(handle);
    return number_to_node(env, failed);
  }
  watch->env = env;
  uv_handle_set_data(handle, watch);
  napi_create_reference(env, arguments[1], 1, &watch->callback);
  napi_async_init(env, NULL, name, &watch->context);
  napi_create_function(env, "stop", 4, stop_watching, handle, &stop);
  uv_poll_start(handle, uv_readable | uv_disconnect, readable);
  uv_unref(handle);
  return stop;
}

EXPORTS({"pair", pair}, {"receive", receive}, {"wait", await_input}, {"listen", listen_at}, {"watch", watch_input})
