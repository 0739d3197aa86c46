/*
 * What the kernel has for open files and Node has not.
 *
 * A lock: one process at a time appends to a chain, and a killed one holds nothing.
 *
 * lock(descriptor, milliseconds) and unlock(descriptor) return 0 or an errno. Waiting is bounded: a process that was
 * stopped while it held the lock would stop all others.
 *
 * A process that looks now and then finds the lock of one that takes it again and again held nearly always. So there is
 * a turnstile before it, a lock of the kernel's other kind on the same open file: only who has that tries for the lock,
 * and lets go of it when they have the lock. Who has just had the lock has to come through it behind the one that
 * waits. All sleep in the kernel until it is their turn, and a timer ends that (wait.c).
 *
 * Locks of others on this machine: range(descriptor, kind, start, end, test) is of bytes and belongs to the open file,
 * whole(descriptor, kind) is flock's; kinds are 0 none, 1 shared, 2 exclusive; end 0 is whatever the file grows to. They
 * never wait. They return 0 or a negative errno; range also [kind, start, end] of a lock that is in the way of a test.
 *
 * An attribute that marks a directory of the store: mark(descriptor) and marked(descriptor) return 0 or an errno.
 * What is made in a directory would have of the directory's own: rights beside its mode and instead of the umask (a
 * default ACL), and a group that is not the maker's (setgid). disown(descriptor) takes them from the directory; 0, also
 * where there are none, or an errno.
 */
#include "exports.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int lock_file(int descriptor, bool waits) {
  return flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

static int set_turnstile(int descriptor, int command, short kind) {
  struct flock first_byte = {.l_type = kind, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
  if (fcntl(descriptor, command, &first_byte) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

static int enter_turnstile(int descriptor, bool waits) {
  return set_turnstile(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, F_WRLCK);
}

static int lock_within(int descriptor, int32_t milliseconds) {
  /* Who does not wait needs no turnstile. */
  if (milliseconds <= 0) return lock_file(descriptor, false);
  int64_t end = end_after(milliseconds);
  int before = get_until(end, descriptor, enter_turnstile);
  if (before == EAGAIN) return EAGAIN;
  /* A file that is not open to be written, or of a filesystem without such locks, has no turnstile. */
  int number = get_until(end, descriptor, lock_file);
  if (before == 0) set_turnstile(descriptor, F_OFD_SETLK, F_UNLCK);
  return number;
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

static int disown_now(int descriptor, int32_t milliseconds) {
  (void)milliseconds;
  struct stat status;
  if (fremovexattr(descriptor, "system.posix_acl_default") != 0 && errno != ENODATA && errno != ENOTSUP) return errno;
  if (fstat(descriptor, &status) != 0) return errno;
  if (status.st_gid != getegid() && fchown(descriptor, (uid_t)-1, getegid()) != 0) return errno;
  return (status.st_mode & S_ISGID) == 0 || fchmod(descriptor, status.st_mode & 01777) == 0 ? 0 : errno;
}

static napi_value disown(napi_env env, napi_callback_info info) {
  return answer(env, info, disown_now);
}
static napi_value mark(napi_env env, napi_callback_info info) {
  return answer(env, info, mark_now);
}
static napi_value marked(napi_env env, napi_callback_info info) {
  return answer(env, info, look_for_mark);
}
static napi_value lock(napi_env env, napi_callback_info info) {
  return answer(env, info, lock_within);
}
static napi_value unlock(napi_env env, napi_callback_info info) {
  return answer(env, info, unlock_now);
}

static int64_t number_at(napi_env env, napi_value value) {
  int64_t result = -1;
  return napi_get_value_int64(env, value, &result) == 0 ? result : -1;
}

static napi_value whole_number(napi_env env, int64_t value) {
  napi_value result = NULL;
  napi_create_int64(env, value, &result);
  return result;
}

static const short range_kinds[] = {F_UNLCK, F_RDLCK, F_WRLCK};
static const int whole_kinds[] = {LOCK_UN, LOCK_SH, LOCK_EX};

static napi_value range(napi_env env, napi_callback_info info) {
  size_t count = 5;
  napi_value given[5] = {NULL, NULL, NULL, NULL, NULL};
  napi_get_cb_info(env, info, &count, given, NULL, NULL);
  if (count < 5) return whole_number(env, -EINVAL);
  int64_t kind = number_at(env, given[1]), start = number_at(env, given[2]), end = number_at(env, given[3]);
  int test = number_at(env, given[4]) == 1;
  /* An end before its start would be a lock on what is before it. */
  if (kind < 0 || kind > 2 || start < 0 || end < 0 || (end > 0 && end <= start)) return whole_number(env, -EINVAL);
  struct flock asked = {.l_type = range_kinds[kind], .l_whence = SEEK_SET, .l_start = start};
  asked.l_len = end == 0 ? 0 : end - start;
  if (fcntl((int)number_at(env, given[0]), test ? F_OFD_GETLK : F_OFD_SETLK, &asked) != 0)
    return whole_number(env, -errno);
  if (!test || asked.l_type == F_UNLCK) return whole_number(env, 0);
  napi_value result = NULL;
  napi_create_array_with_length(env, 3, &result);
  napi_set_element(env, result, 0, whole_number(env, asked.l_type == F_RDLCK ? 1 : 2));
  napi_set_element(env, result, 1, whole_number(env, asked.l_start));
  napi_set_element(env, result, 2, whole_number(env, asked.l_len == 0 ? 0 : asked.l_start + asked.l_len));
  return result;
}

static napi_value whole(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value given[2] = {NULL, NULL};
  napi_get_cb_info(env, info, &count, given, NULL, NULL);
  int64_t kind = count < 2 ? -1 : number_at(env, given[1]);
  if (kind < 0 || kind > 2) return whole_number(env, -EINVAL);
  int failed = flock((int)number_at(env, given[0]), whole_kinds[kind] | LOCK_NB) != 0;
  return whole_number(env, failed ? -errno : 0);
}

EXPORTS({"lock", lock}, {"unlock", unlock}, {"mark", mark}, {"marked", marked}, {"disown", disown}, {"range", range},
        {"whole", whole})
