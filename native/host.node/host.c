/*
 * System calls on entries of an open directory, which Node has only by path.
 *
 * A name is one name, without a slash and not "..", and is never followed if it is a link; EINVAL otherwise. A path is
 * names below a directory, none of them a link: it leads nowhere else, whatever others rename meanwhile. Every function
 * returns what the kernel returned, or a negative errno; texts are bytes, one a character.
 *
 * open(directory, path, flags, mode, attributes), reopen(descriptor, flags), close(descriptor),
 * stat(directory, name, attributes), where the empty name is the directory itself,
 * unlink(directory, name, flags), rename(directory, name, to, newName, flags), mkdir(directory, name, mode),
 * symlink(target, directory, name), link(descriptor, to, newName), readlink(descriptor), owner(descriptor, uid, gid),
 * times(descriptor, seconds, nanoseconds, seconds, nanoseconds) of access and change: -1 nanoseconds are now, -2 as it is.
 *
 * attributes is a Float64Array, which is filled in the order of `fill`.
 */
#include "exports.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { name_room = 256, path_room = 4096, own_path_room = 32, most_arguments = 6, attribute_count = 18 };

struct call {
  napi_env env;
  size_t count;
  napi_value values[most_arguments];
};

static struct call call_of(napi_env env, napi_callback_info info) {
  struct call call = {.env = env, .count = most_arguments};
  napi_get_cb_info(env, info, &call.count, call.values, NULL, NULL);
  return call;
}

static int number_in(const struct call *call, size_t index) {
  return index < call->count ? number_of(call->env, call->values[index]) : -1;
}

static int64_t large_in(const struct call *call, size_t index) {
  int64_t value = -1;
  if (index < call->count) napi_get_value_int64(call->env, call->values[index], &value);
  return value;
}

static napi_value answer(const struct call *call, long result) {
  return number_to_node(call->env, result < 0 ? -errno : (int32_t)result);
}

static napi_value refuse(const struct call *call, int number) {
  return number_to_node(call->env, -number);
}

/* 0 or an errno. */
static int text_in(const struct call *call, size_t index, char *text, size_t room) {
  size_t length = 0;
  if (index >= call->count || napi_get_value_string_latin1(call->env, call->values[index], NULL, 0, &length) != napi_ok)
    return EINVAL;
  if (length >= room) return ENAMETOOLONG;
  napi_get_value_string_latin1(call->env, call->values[index], text, room, &length);
  return memchr(text, 0, length) ? EINVAL : 0;
}

static int name_in(const struct call *call, size_t index, char *name) {
  int failed = text_in(call, index, name, name_room);
  if (failed) return failed;
  return !*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..") ? EINVAL : 0;
}

static void fill(double *to, const struct statx *found) {
  *to++ = found->stx_mode;
  *to++ = found->stx_nlink;
  *to++ = found->stx_uid;
  *to++ = found->stx_gid;
  *to++ = (double)makedev(found->stx_rdev_major, found->stx_rdev_minor);
  *to++ = (double)found->stx_size;
  *to++ = (double)found->stx_blocks;
  const struct statx_timestamp *times[] = {&found->stx_atime, &found->stx_mtime, &found->stx_ctime, &found->stx_btime};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    *to++ = (double)times[i]->tv_sec;
    *to++ = times[i]->tv_nsec;
  }
  *to++ = (double)makedev(found->stx_dev_major, found->stx_dev_minor);
  *to++ = (double)(found->stx_ino >> 32);
  *to++ = (double)(found->stx_ino & 0xffffffff);
}

/* 0, or a negative errno. */
static int stat_into(const struct call *call, size_t index, int directory, const char *name) {
  double *data = NULL;
  size_t length = 0;
  napi_typedarray_type type;
  if (index >= call->count ||
      napi_get_typedarray_info(call->env, call->values[index], &type, &length, (void **)&data, NULL, NULL) != napi_ok ||
      type != napi_float64_array || length < attribute_count)
    return -EINVAL;
  struct statx found;
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
  if (statx(directory, name, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return -errno;
  if (!(found.stx_mask & STATX_BTIME)) memset(&found.stx_btime, 0, sizeof found.stx_btime);
  fill(data, &found);
  return 0;
}

/* For kernels and containers without openat2: name after name. */
static int walk(int directory, char *path, int flags, mode_t mode) {
  int at = directory;
  for (char *next; (next = strchr(path, '/')); path = next + 1) {
    *next = 0;
    int below = *path && strcmp(path, "..") ? openat(at, path, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC) : -1;
    int failed = *path && strcmp(path, "..") ? errno : EINVAL;
    if (at != directory) close(at);
    if (below < 0) {
      errno = failed;
      return -1;
    }
    at = below;
  }
  int found = strcmp(path, "..") ? openat(at, path, flags | O_NOFOLLOW | O_CLOEXEC, mode) : -1;
  int failed = strcmp(path, "..") ? errno : EINVAL;
  if (at != directory) close(at);
  errno = failed;
  return found;
}

static int open_below(int directory, char *path, int flags, mode_t mode) {
  struct open_how how = {.flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC)};
  how.mode = flags & O_CREAT ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int found = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
  return found < 0 && (errno == ENOSYS || errno == EPERM) ? walk(directory, path, flags, mode) : found;
}

static napi_value open_path(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char path[path_room];
  int failed = text_in(&call, 1, path, sizeof path);
  if (failed) return refuse(&call, failed);
  int found = open_below(number_in(&call, 0), path, number_in(&call, 2), (mode_t)number_in(&call, 3));
  if (found < 0) return refuse(&call, errno);
  failed = stat_into(&call, 4, found, "");
  if (failed == 0) return number_to_node(env, found);
  close(found);
  return number_to_node(env, failed);
}

static void own_path(char path[own_path_room], int descriptor) {
  snprintf(path, own_path_room, "/proc/self/fd/%d", descriptor);
}

static napi_value reopen(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char path[own_path_room];
  own_path(path, number_in(&call, 0));
  return answer(&call, open(path, number_in(&call, 1) | O_CLOEXEC));
}

static napi_value close_one(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  return answer(&call, close(number_in(&call, 0)));
}

static napi_value stat_entry(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char name[name_room];
  int failed = text_in(&call, 1, name, sizeof name);
  if (!failed && *name) failed = name_in(&call, 1, name);
  if (failed) return refuse(&call, failed);
  return number_to_node(env, stat_into(&call, 2, number_in(&call, 0), name));
}

static napi_value unlink_entry(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char name[name_room];
  int failed = name_in(&call, 1, name);
  if (failed) return refuse(&call, failed);
  return answer(&call, unlinkat(number_in(&call, 0), name, number_in(&call, 2)));
}

static napi_value rename_entry(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char name[name_room], new_name[name_room];
  int failed = name_in(&call, 1, name);
  if (!failed) failed = name_in(&call, 3, new_name);
  if (failed) return refuse(&call, failed);
  unsigned flags = (unsigned)number_in(&call, 4);
  return answer(&call, renameat2(number_in(&call, 0), name, number_in(&call, 2), new_name, flags));
}

/* The very inode, whatever its name leads to by now. */
static napi_value link_inode(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char path[own_path_room], name[name_room];
  int failed = name_in(&call, 2, name);
  if (failed) return refuse(&call, failed);
  own_path(path, number_in(&call, 0));
  return answer(&call, linkat(AT_FDCWD, path, number_in(&call, 1), name, AT_SYMLINK_FOLLOW));
}

static napi_value make_directory(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char name[name_room];
  int failed = name_in(&call, 1, name);
  if (failed) return refuse(&call, failed);
  return answer(&call, mkdirat(number_in(&call, 0), name, (mode_t)number_in(&call, 2)));
}

static napi_value make_link(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char target[path_room], name[name_room];
  int failed = text_in(&call, 0, target, sizeof target);
  if (!failed) failed = name_in(&call, 2, name);
  if (failed) return refuse(&call, failed);
  return answer(&call, symlinkat(target, number_in(&call, 1), name));
}

static napi_value read_link(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  char target[path_room];
  ssize_t length = readlinkat(number_in(&call, 0), "", target, sizeof target);
  if (length < 0) return refuse(&call, errno);
  napi_value text = NULL;
  napi_create_string_latin1(env, target, (size_t)length, &text);
  return text;
}

static napi_value set_owner(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  uid_t uid = (uid_t)large_in(&call, 1);
  gid_t gid = (gid_t)large_in(&call, 2);
  return answer(&call, fchownat(number_in(&call, 0), "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

static struct timespec time_in(const struct call *call, size_t index) {
  int64_t nanoseconds = large_in(call, index + 1);
  long special = nanoseconds == -1 ? UTIME_NOW : UTIME_OMIT;
  return (struct timespec){.tv_sec = large_in(call, index), .tv_nsec = nanoseconds < 0 ? special : (long)nanoseconds};
}

static napi_value set_times(napi_env env, napi_callback_info info) {
  struct call call = call_of(env, info);
  struct timespec times[] = {time_in(&call, 1), time_in(&call, 3)};
  return answer(&call, utimensat(number_in(&call, 0), "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

EXPORTS({"open", open_path}, {"reopen", reopen}, {"close", close_one}, {"stat", stat_entry}, {"unlink", unlink_entry},
        {"rename", rename_entry}, {"link", link_inode}, {"mkdir", make_directory}, {"symlink", make_link},
        {"readlink", read_link}, {"owner", set_owner}, {"times", set_times})
