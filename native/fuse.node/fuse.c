/*
 * What serving FUSE needs of the kernel and Node has not.
 *
 * pair() returns two connected sockets, [ours, theirs]; receive(socket) the descriptor that comes over one, or a negative errno:
 * that is how fusermount3 hands over /dev/fuse. wait(descriptor, milliseconds) returns 1 where something can be read, 0 where
 * nothing came, or a negative errno; EINTR is one, so that signals are seen.
 */
#include "node-api.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Looked for again and again for so long before the thread sleeps: waking it costs more than most requests take. */
enum { spin_nanoseconds = 20 * 1000 };

static int32_t number(napi_env env, napi_value value) {
  int32_t result = -1;
  if (napi_get_value_int32(env, value, &result) != 0) return -1;
  return result;
}

static napi_value answer(napi_env env, int32_t value) {
  napi_value result = NULL;
  napi_create_int32(env, value, &result);
  return result;
}

static napi_value pair(napi_env env, napi_callback_info info) {
  (void)info;
  int sockets[2] = {-1, -1};
  /* Theirs is inherited by number, so Node takes the flag off that one. */
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return answer(env, -errno);
  napi_value result = NULL;
  napi_create_array_with_length(env, 2, &result);
  napi_set_element(env, result, 0, answer(env, sockets[0]));
  napi_set_element(env, result, 1, answer(env, sockets[1]));
  return result;
}

static int received(int socket) {
  char byte;
  char room[CMSG_SPACE(sizeof(int))];
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  ssize_t count;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (count == 0 || !head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int))) return -EPROTO;
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
  int64_t end = now_nanoseconds() + spin_nanoseconds;
  do {
    int found = poll(&look, 1, 0);
    if (found != 0) return found < 0 ? -errno : 1;
  } while (now_nanoseconds() < end);
  int found = poll(&look, 1, milliseconds);
  return found < 0 ? -errno : found;
}

static napi_value receive(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = NULL;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  return answer(env, received(count < 1 ? -1 : number(env, argument)));
}

static napi_value await_input(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2] = {NULL, NULL};
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count < 2) return answer(env, -EINVAL);
  return answer(env, waited(number(env, arguments[0]), number(env, arguments[1])));
}

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function = NULL;
  napi_create_function(env, "pair", 4, pair, NULL, &function);
  napi_set_named_property(env, exports, "pair", function);
  napi_create_function(env, "receive", 7, receive, NULL, &function);
  napi_set_named_property(env, exports, "receive", function);
  napi_create_function(env, "wait", 4, await_input, NULL, &function);
  napi_set_named_property(env, exports, "wait", function);
  return exports;
}
