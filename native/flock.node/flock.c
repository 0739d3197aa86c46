/*
 * What the kernel has for open files and Node has not.
 *
 * A lock: one process at a time appends to a chain, and a killed one holds nothing.
 *
 * lock(descriptor, milliseconds) and unlock(descriptor) return 0 or an errno. Waiting is bounded, and by looking again and
 * again: a blocked call could not be ended, and a process that was stopped while it held the lock would stop all others.
 *
 * An attribute that marks a directory of the store: mark(descriptor) and marked(descriptor) return 0 or an errno.
 */
#include "node-api.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <time.h>

enum { shortest_nap = 10 * 1000, longest_nap = 500 * 1000 };

static int64_t now_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int lock_within(int descriptor, int32_t milliseconds) {
  int64_t end = 0;
  for (long nap = shortest_nap;; nap = nap * 2 < longest_nap ? nap * 2 : longest_nap) {
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return errno;
    int64_t now = now_nanoseconds();
    if (end == 0) end = now + (int64_t)milliseconds * 1000000;
    if (now >= end) return EAGAIN;
    nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
  }
}

/* Both arguments are numbers: whatever is not is -1, which is no descriptor. */
static napi_value answer(napi_env env, napi_callback_info info, int (*act)(int, int32_t)) {
  size_t count = 2;
  napi_value arguments[2] = {NULL, NULL};
  napi_value result = NULL;
  int32_t descriptor = -1, milliseconds = 0;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count > 0 && napi_get_value_int32(env, arguments[0], &descriptor) != 0) descriptor = -1;
  if (count > 1 && napi_get_value_int32(env, arguments[1], &milliseconds) != 0) milliseconds = 0;
  napi_create_int32(env, act(descriptor, milliseconds), &result);
  return result;
}

static int unlock_now(int descriptor, int32_t milliseconds) {
  (void)milliseconds;
  return flock(descriptor, LOCK_UN) == 0 ? 0 : errno;
}

static const char mark_name[] = "user.ctxfs.store";

static int mark_now(int descriptor, int32_t milliseconds) {
  (void)milliseconds;
  return fsetxattr(descriptor, mark_name, "1", 1, 0) == 0 ? 0 : errno;
}

static int look_for_mark(int descriptor, int32_t milliseconds) {
  (void)milliseconds;
  return fgetxattr(descriptor, mark_name, NULL, 0) >= 0 ? 0 : errno;
}

static napi_value mark(napi_env env, napi_callback_info info) { return answer(env, info, mark_now); }
static napi_value marked(napi_env env, napi_callback_info info) { return answer(env, info, look_for_mark); }
static napi_value lock(napi_env env, napi_callback_info info) { return answer(env, info, lock_within); }
static napi_value unlock(napi_env env, napi_callback_info info) { return answer(env, info, unlock_now); }

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function = NULL;
  napi_create_function(env, "lock", 4, lock, NULL, &function);
  napi_set_named_property(env, exports, "lock", function);
  napi_create_function(env, "unlock", 6, unlock, NULL, &function);
  napi_set_named_property(env, exports, "unlock", function);
  napi_create_function(env, "mark", 4, mark, NULL, &function);
  napi_set_named_property(env, exports, "mark", function);
  napi_create_function(env, "marked", 6, marked, NULL, &function);
  napi_set_named_property(env, exports, "marked", function);
  return exports;
}
