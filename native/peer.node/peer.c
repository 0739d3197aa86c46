/*
 * Who is at the other end of a unix socket, which Node does not say: isSelf(descriptor) returns 0 where it was the user
 * and the groups of this process when it connected, EPERM where it was somebody else, and another errno where the
 * kernel does not say. processAt(descriptor) returns the number of the process that connected, 0 where it is not known.
 */
#include "exports.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_groups = 65536 };

static int compare(const void *one, const void *other) {
  gid_t a = *(const gid_t *)one, b = *(const gid_t *)other;
  return a < b ? -1 : a > b;
}

/* Their order says nothing. */
static bool same_groups(gid_t *ours, gid_t *theirs, size_t count) {
  qsort(ours, count, sizeof *ours, compare);
  qsort(theirs, count, sizeof *theirs, compare);
  return memcmp(ours, theirs, count * sizeof *ours) == 0;
}

static int groups_of(int descriptor) {
  int count = getgroups(0, NULL);
  if (count < 0 || count > most_groups) return EINVAL;
  gid_t *ours = calloc((size_t)count + 1, sizeof *ours), *theirs = calloc((size_t)count + 1, sizeof *theirs);
  socklen_t size = (socklen_t)((size_t)count * sizeof *theirs);
  int failed = 0;
  if (!ours || !theirs)
    failed = ENOMEM;
  else if (getgroups(count, ours) != count)
    failed = EINVAL;
  else if (getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, theirs, &size) != 0)
    failed = errno == ERANGE ? EPERM : errno; /* they have more than we */
  else if (size != (size_t)count * sizeof *theirs || !same_groups(ours, theirs, (size_t)count))
    failed = EPERM;
  free(ours);
  free(theirs);
  return failed;
}

static int is_self(int descriptor) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno;
  return peer.uid == geteuid() && peer.gid == getegid() ? groups_of(descriptor) : EPERM;
}

static int process_at(int descriptor) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

static napi_value answer(napi_env env, napi_callback_info info, int (*of)(int)) {
  size_t count = 1;
  napi_value argument = NULL, result = NULL;
  int32_t descriptor = -1;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  if (count < 1 || napi_get_value_int32(env, argument, &descriptor) != 0) descriptor = -1;
  napi_create_int32(env, of(descriptor), &result);
  return result;
}

static napi_value answer_is_self(napi_env env, napi_callback_info info) {
  return answer(env, info, is_self);
}

static napi_value answer_process_at(napi_env env, napi_callback_info info) {
  return answer(env, info, process_at);
}

EXPORTS({"isSelf", answer_is_self}, {"processAt", answer_process_at})
