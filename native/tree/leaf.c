/*
 * One entry of a live tree into the store. The person may be writing to it: a regular file is copied until its stat is
 * the same before and after, and never while its times are too fresh to show a further change.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS 5

static enum outcome left_out(struct leaf *leaf, int error, const char *why) {
  leaf->error = error;
  leaf->why = why;
  return LEAF_LEFT_OUT;
}

static enum outcome failed(struct leaf *leaf, int error, const char *operation) {
  leaf->error = error;
  leaf->why = operation;
  return LEAF_FAILED;
}

static bool is_hard(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Of what could not be opened. What cannot be looked at is told: it may well be there. */
static enum outcome unopened_leaf(int directory, const char *name, struct leaf *leaf, int error) {
  bool special = error == ENXIO || error == ELOOP;
  if (error == ENOENT) return LEAF_VANISHED;
  if (is_hard(error)) return failed(leaf, error, "open");
  if (fstatat(directory, name, &leaf->status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return LEAF_VANISHED;
    return left_out(leaf, special ? errno : error, "it cannot be read");
  }
  return special ? LEAF_COPIED : left_out(leaf, error, "it cannot be read");
}

enum outcome open_leaf(int directory, const char *name, struct leaf *leaf) {
  *leaf = (struct leaf){.fd = -1};
  leaf->fd = open_regular(directory, name, &leaf->status);
  enum outcome outcome = leaf->fd < 0 ? unopened_leaf(directory, name, leaf, errno) : LEAF_COPIED;
  if (outcome != LEAF_COPIED) return outcome;
  switch (leaf->status.st_mode & S_IFMT) {
  case S_IFDIR:
    return LEAF_DIRECTORY;
  case S_IFSOCK:
    return left_out(leaf, ENOTSUP, "sockets are left out");
  case S_IFCHR:
  case S_IFBLK:
    return left_out(leaf, ENOTSUP, "device nodes are left out");
  }
  return LEAF_COPIED;
}

void close_leaf(struct leaf *leaf) {
  if (leaf->fd >= 0) close(leaf->fd);
  leaf->fd = -1;
}

/* An id that would wrap around could come out as root's. */
static bool can_shift(const struct stat *status, const struct options *options) {
  return status->st_uid < UINT32_MAX - options->shift && status->st_gid < UINT32_MAX - options->shift;
}

int set_mode(int fd, mode_t mode) {
  struct stat status;
  if (fstat(fd, &status) == 0 && (status.st_mode & 07777) == mode) return 0;
  return fchmod(fd, mode);
}

int store_metadata(int fd, const struct stat *status, mode_t mode, const struct options *options) {
  if (options->privileged && !can_shift(status, options)) return EOVERFLOW;
  if (options->privileged && fchown(fd, status->st_uid + options->shift, status->st_gid + options->shift) != 0)
    return errno;
  if (set_mode(fd, mode) != 0) return errno;
  struct timespec times[2] = {status->st_mtim, status->st_mtim};
  return futimens(fd, times) != 0 ? errno : 0;
}

static bool is_unchanged(const struct stat *before, const struct stat *after) {
  return before->st_size == after->st_size && before->st_ino == after->st_ino &&
         nanoseconds(before->st_mtim) == nanoseconds(after->st_mtim) &&
         nanoseconds(before->st_ctim) == nanoseconds(after->st_ctim);
}

/*
 * Until when its times can be trusted takes too long to wait for: with a change time of 0 it counts as changed the next
 * time it is looked at.
 */
static bool is_looked_at_again(const struct stat *status) {
  return keeps_seconds(status) && is_racy(status);
}

static enum outcome copy_file(const char *name, struct leaf *leaf, int target, const struct options *options,
                              atomic_ullong *copied) {
  mode_t mode = (leaf->status.st_mode & 0777) | 0600; /* attributes are given to files that can be written */
  int to = openat(target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (to < 0) return failed(leaf, errno, "create");
  enum outcome outcome = LEAF_UNSTABLE;
  int error = 0;
  const char *operation = "copy";
  for (int attempt = 0; attempt < ATTEMPTS && outcome == LEAF_UNSTABLE && error == 0; attempt++) {
    if (attempt > 0 && (ftruncate(to, 0) != 0 || lseek(to, 0, SEEK_SET) < 0 || lseek(leaf->fd, 0, SEEK_SET) < 0))
      error = errno;
    if (is_racy(&leaf->status)) {
      nap_until_trusted(&leaf->status);
      if (fstat(leaf->fd, &leaf->status) != 0) error = errno;
    }
    bool again = is_looked_at_again(&leaf->status), trusted = again || !is_racy(&leaf->status);
    if (error == 0) error = copy_content(leaf->fd, to, &leaf->status, copied);
    struct stat after;
    if (error == 0 && fstat(leaf->fd, &after) != 0) error = errno;
    if (error == 0 && trusted && is_unchanged(&leaf->status, &after)) outcome = LEAF_COPIED;
    if (error == 0) leaf->status = after;
    if (outcome == LEAF_COPIED && again) leaf->status.st_ctim = (struct timespec){0};
  }
  if (error == 0) error = copy_user_attributes(leaf->fd, to);
  if (error == 0) {
    operation = "set metadata";
    error = store_metadata(to, &leaf->status, leaf->status.st_mode & 01777, options);
  }
  if (close(to) != 0 && error == 0) {
    operation = "write";
    error = errno;
  }
  if (error != 0) {
    unlinkat(target, name, 0);
    return failed(leaf, error, operation);
  }
  if (outcome == LEAF_UNSTABLE) {
    leaf->error = EBUSY;
    leaf->why = "it changed while it was copied";
  }
  return outcome;
}

static int set_link_metadata(const char *name, const struct stat *status, int target, const struct options *options) {
  if (options->privileged && !can_shift(status, options)) return EOVERFLOW;
  if (options->privileged && fchownat(target, name, status->st_uid + options->shift, status->st_gid + options->shift,
                                      AT_SYMLINK_NOFOLLOW) != 0)
    return errno;
  struct timespec times[2] = {status->st_mtim, status->st_mtim};
  return utimensat(target, name, times, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
}

static enum outcome copy_special(int directory, const char *name, struct leaf *leaf, int target,
                                 const struct options *options) {
  struct stat after;
  if (is_racy(&leaf->status)) nap_until_trusted(&leaf->status);
  bool again = is_looked_at_again(&leaf->status);
  if (S_ISLNK(leaf->status.st_mode)) {
    char text[PATH_MAX + 1];
    ssize_t length = readlinkat(directory, name, text, PATH_MAX);
    if (length < 0) return errno == ENOENT ? LEAF_VANISHED : left_out(leaf, errno, "it cannot be read");
    text[length] = '\0';
    if (symlinkat(text, target, name) != 0) return failed(leaf, errno, "create");
  } else if (mknodat(target, name, (leaf->status.st_mode & S_IFMT) | (leaf->status.st_mode & 01777), 0) != 0) {
    return failed(leaf, errno, "create");
  }
  int error = set_link_metadata(name, &leaf->status, target, options);
  if (error != 0) return failed(leaf, error, "set metadata");
  if (fstatat(directory, name, &after, AT_SYMLINK_NOFOLLOW) == 0 && is_unchanged(&leaf->status, &after)) {
    if (again) leaf->status.st_ctim = (struct timespec){0};
    return LEAF_COPIED;
  }
  leaf->error = EBUSY;
  leaf->why = "it changed while it was copied";
  return LEAF_UNSTABLE;
}

enum outcome copy_leaf(int directory, const char *name, struct leaf *leaf, int target, const struct options *options,
                       atomic_ullong *copied) {
  if (leaf->fd >= 0) return copy_file(name, leaf, target, options, copied);
  return copy_special(directory, name, leaf, target, options);
}
