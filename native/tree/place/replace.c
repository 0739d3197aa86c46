/*
 * The last step of a put or a removal in the person's directory. The person may save the same file at any moment, by
 * any of the ways programs have: over it by rename, into it through an open descriptor, by removing and making it
 * again. So an entry is never written over unseen: it is exchanged with the new one, looked at under its new name, and
 * removed only where it is what was looked at before and no program can write to it any more. Else it goes back to its
 * place.
 *
 *   .ctx-HASH.new    an entry of ours that is being made; never anything of the person's
 *   .ctx-HASH.old    ours before the exchange, what the person had after it
 *   NAME.ctx-saved   a save of the person's that a later one of theirs has overtaken in the middle of all this
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A program that saves has its file open for milliseconds; one that keeps it open keeps it. */
#define ATTEMPTS 20
#define PAUSE_NANOSECONDS 3000000

static bool is_same_entry(const struct stat *left, const struct stat *right) {
  return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

static struct stat status_of(const struct place *place, const char *name) {
  struct stat status;
  if (fstatat(place->parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) fail(errno, "stat", place->path);
  return status;
}

/* `open`: a descriptor of what stands there, where it is a file that was opened already; or -1. */
static bool is_as_expected(const struct place *place, const char *name, int open) {
  const struct found *expected = place->expected;
  struct stat status;
  if (expected->state != FOUND_ENTRY) return false;
  int looked = open >= 0 ? fstat(open, &status) : fstatat(place->parent, name, &status, AT_SYMLINK_NOFOLLOW);
  if (looked != 0) return false;
  if ((status.st_mode & S_IFMT) != (expected->status.st_mode & S_IFMT)) return false;
  bool narrowed = place->undoes && is_narrowed(expected->status.st_mode, status.st_mode);
  if (S_ISREG(status.st_mode) && ((status.st_mode ^ expected->status.st_mode) & 0777) != 0 && !narrowed) return false;
  if (S_ISDIR(status.st_mode)) return true;
  bool same = open >= 0
                  ? same_content_as(expected->directory, &expected->status, place->name, open, &status)
                  : same_content(expected->directory, &expected->status, place->parent, &status, place->name, name);
  if (!same) return false;
  return open >= 0 ? same_attributes(expected->directory, place->name, open, NULL)
                   : same_attributes(expected->directory, place->name, place->parent, name);
}

bool is_changed_live(const struct place *place) {
  struct stat status;
  if (!place->live || place->expected == NULL || fstatat(place->parent, place->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  return !is_as_expected(place, place->name, -1);
}

enum verdict { GONE, BUSY, OTHER };

/* `leased`: of the file, or -1. */
static void discard(const struct place *place, const char *name, int leased) {
  if (unlink_in(place, name, 0) != 0) fail(errno, "remove", place->path);
  if (leased >= 0) retire(place, leased);
}

/* What stands under `name`, away for good where it is what was expected. */
static enum verdict discard_expected(const struct place *place, const char *name) {
  int held = lease(place, name);
  if (held < 0 && errno == EAGAIN) return BUSY;
  bool expected = is_as_expected(place, name, held);
  enum verdict verdict = OTHER;
  if (held >= 0 && is_wanted(held)) return close(held), BUSY;
  if (expected && S_ISDIR(place->expected->status.st_mode)) {
    if (unlink_in(place, name, AT_REMOVEDIR) == 0)
      verdict = GONE;
    else if (errno != ENOTEMPTY && errno != EEXIST)
      fail(errno, "remove", place->path);
  } else if (expected) {
    discard(place, name, held);
    return GONE;
  }
  if (held >= 0) close(held);
  return verdict;
}

static void nap(void) {
  struct timespec pause = {0, PAUSE_NANOSECONDS};
  nanosleep(&pause, NULL);
}

/* A lease on an entry of ours, or -1; with EAGAIN, where somebody saves into it or has done so. */
static int hold_unwritten(const struct place *place, const char *old, const struct stat *ours) {
  errno = 0;
  int held = S_ISREG(ours->st_mode) ? lease(place, old) : -1;
  if (held < 0 && errno == EAGAIN) return -1;
  struct stat out = status_of(place, old);
  bool same = out.st_size == ours->st_size && nanoseconds(out.st_mtim) == nanoseconds(ours->st_mtim);
  if (same && (held < 0 || !is_wanted(held))) return held;
  if (held >= 0) close(held);
  errno = EAGAIN;
  return -1;
}

/* It was in the place for a moment: somebody may have found it there. */
static void discard_ours(const struct place *place, const char *old, const struct stat *ours) {
  int held = hold_unwritten(place, old, ours);
  if (held < 0 && errno == EAGAIN)
    set_aside(place, old);
  else
    discard(place, old, held);
}

/*
 * `old` holds what the person had, the place what we put there. Exchanged until nobody came in between: whatever comes
 * out of the place and is not what we put there last is newer than that, and has to go back. True: `old` is ours again.
 */
static bool put_back(const struct place *place, const char *old, const struct stat *ours) {
  struct stat there = *ours, held;
  for (;;) {
    held = status_of(place, old);
    if (rename_with(place, old, place->name, RENAME_EXCHANGE) != 0) {
      if (errno != ENOENT) fail(errno, "put back", place->path);
      /* Removed meanwhile: what was held is what the person meant to remove, unless they had saved it before. */
      if (rename_with(place, old, place->name, RENAME_NOREPLACE) != 0) set_aside(place, old);
      return false;
    }
    struct stat out = status_of(place, old);
    if (is_same_entry(&out, &there)) break;
    there = held;
  }
  struct stat out = status_of(place, old);
  if (!is_same_entry(&out, ours)) {
    /* The person saved over ours: what they had saved before that is kept already, or goes beside. */
    if (discard_expected(place, old) != GONE) set_aside(place, old);
    return false;
  }
  int leased = hold_unwritten(place, old, ours);
  bool written = leased < 0 && errno == EAGAIN;
  if (leased >= 0) close(leased);
  if (!written) return true;
  /* They have saved into the new entry: it stays, and what they had saved before is beside it. */
  if (rename_with(place, old, place->name, RENAME_EXCHANGE) != 0) fail(errno, "put back", place->path);
  set_aside(place, old);
  return false;
}

/* Filesystems that cannot exchange: looked at right before. */
static enum replaced put_over(const struct place *place, const char *temporary) {
  if (!is_as_expected(place, place->name, -1)) {
    if (unlink_in(place, temporary, 0) != 0) fail(errno, "remove", place->path);
    return CLASHED;
  }
  if (S_ISDIR(place->expected->status.st_mode) && unlink_in(place, place->name, AT_REMOVEDIR) != 0)
    fail(errno, "remove", place->path);
  if (rename_plainly(place, temporary, place->name) != 0) fail(errno, "rename", place->path);
  return REPLACED;
}

/* `old` is ours, and whole. */
static enum replaced exchange_with(const struct place *place, const char *old) {
  struct stat ours = status_of(place, old);
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (rename_with(place, old, place->name, RENAME_EXCHANGE) != 0) {
      if (errno == EINVAL || errno == ENOSYS) return put_over(place, old);
      if (errno != ENOENT) fail(errno, "rename", place->path);
      break; /* the person has removed it */
    }
    enum verdict verdict = discard_expected(place, old);
    if (verdict == GONE) return REPLACED;
    if (!put_back(place, old, &ours)) return CLASHED;
    if (verdict == OTHER) break;
    nap();
  }
  discard_ours(place, old, &ours);
  return CLASHED;
}

static enum replaced exchange(const struct place *place, const char *temporary) {
  char old[64];
  name_beside(place, "old", old);
  if (rename_plainly(place, temporary, old) != 0) fail(errno, "rename", place->path);
  return exchange_with(place, old);
}

/* Nothing was there. */
static enum replaced put_new(const struct place *place, const char *temporary) {
  if (rename_with(place, temporary, place->name, RENAME_NOREPLACE) == 0) return REPLACED;
  struct stat status;
  bool unsupported = errno == EINVAL || errno == ENOSYS;
  if (!unsupported && errno != EEXIST) fail(errno, "rename", place->path);
  if (unsupported && fstatat(place->parent, place->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (rename_plainly(place, temporary, place->name) != 0) fail(errno, "rename", place->path);
    return REPLACED;
  }
  if (unlink_in(place, temporary, 0) != 0) fail(errno, "remove", place->path);
  return CLASHED;
}

static enum replaced rename_over(const struct place *place, const char *temporary) {
  if (rename_plainly(place, temporary, place->name) == 0) return REPLACED;
  /* An empty directory in the way: the plan has removed what was in it. */
  if (errno == EISDIR && unlink_in(place, place->name, AT_REMOVEDIR) == 0 &&
      rename_plainly(place, temporary, place->name) == 0)
    return REPLACED;
  fail(errno, "rename", place->path);
}

enum replaced put_in_place(const struct place *place, const char *temporary) {
  if (place->expected == NULL) {
    rename_over(place, temporary);
    guard_temporary(-1, "");
    return REPLACED;
  }
  hold_stops();
  guard_temporary(-1, "");
  bool there = place->expected->state == FOUND_ENTRY;
  enum replaced replaced = there ? exchange(place, temporary) : put_new(place, temporary);
  allow_stops();
  return replaced;
}

/* Before it is exchanged nobody has it open for writing: whoever has then is somebody else, who saves into it. */
static void close_whole(const struct place *place, int fd) {
  if (close(fd) != 0) fail(errno, "write", place->path);
}

enum replaced put_unnamed_in_place(const struct place *place, int fd) {
  if (place->expected->state != FOUND_ENTRY) {
    bool linked = link_unnamed(place, fd, place->name) == 0;
    if (!linked && errno != EEXIST) fail(errno, "name", place->path);
    close_whole(place, fd);
    return linked ? REPLACED : CLASHED;
  }
  char old[64];
  name_beside(place, "old", old);
  hold_stops();
  if (link_unnamed(place, fd, old) != 0) fail(errno, "name", place->path);
  close_whole(place, fd);
  enum replaced replaced = exchange_with(place, old);
  allow_stops();
  return replaced;
}

static enum replaced take_expected(const struct place *place) {
  static const struct found nothing = {.state = FOUND_NOTHING};
  char old[64];
  name_beside(place, "old", old);
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (rename_with(place, place->name, old, RENAME_NOREPLACE) != 0) {
      if (errno == ENOENT) return REPLACED;
      if (errno == EEXIST) {
        /* Left by a run that was killed. */
        sweep(place, &nothing);
        continue;
      }
      if (errno != EINVAL && errno != ENOSYS) fail(errno, "rename", place->path);
      return discard_expected(place, place->name) == GONE ? REPLACED : CLASHED;
    }
    enum verdict verdict = discard_expected(place, old);
    if (verdict == GONE) return REPLACED;
    if (rename_with(place, old, place->name, RENAME_NOREPLACE) != 0) {
      if (errno != EEXIST) fail(errno, "put back", place->path);
      set_aside(place, old);
      return CLASHED;
    }
    if (verdict == OTHER) return CLASHED;
    nap();
  }
  return CLASHED;
}

/* What is gone already is done: a plan can be run again after an interruption. */
enum replaced take_away(const struct place *place) {
  const struct found *expected = place->expected;
  if (expected == NULL) {
    if (unlink_in(place, place->name, 0) == 0 || errno == ENOENT) return REPLACED;
    if ((errno == EISDIR || errno == EPERM) && unlink_in(place, place->name, AT_REMOVEDIR) == 0) return REPLACED;
    fail(errno, "remove", place->path);
  }
  if (expected->state != FOUND_ENTRY) {
    struct stat status;
    if (fstatat(place->parent, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0) return CLASHED;
    if (errno != ENOENT) fail(errno, "stat", place->path);
    return REPLACED;
  }
  if (S_ISDIR(expected->status.st_mode)) {
    if (unlink_in(place, place->name, AT_REMOVEDIR) == 0 || errno == ENOENT) return REPLACED;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) fail(errno, "remove", place->path);
    return CLASHED;
  }
  if (is_changed_live(place)) return CLASHED;
  hold_stops();
  enum replaced replaced = take_expected(place);
  allow_stops();
  return replaced;
}

/* One that comes as a whole (beside.c). */
static void sweep_directory(const struct place *place, const struct found *made, const char *name) {
  /* With lent ids nothing is made like this. */
  if (place->lends || made->state != FOUND_ENTRY || !S_ISDIR(made->status.st_mode)) return;
  (void)remove_tree(place->parent, name);
}

/* Ours, or what was replaced: both are known. Anything else is a save of the person's, and goes back, or beside. */
void sweep(const struct place *place, const struct found *made) {
  char name[64];
  name_beside(place, "new", name);
  if (unlink_in(place, name, 0) != 0 && errno != ENOENT) sweep_directory(place, made, name);
  sweep_old(place, made);
}

void sweep_old(const struct place *place, const struct found *made) {
  char name[64];
  name_beside(place, "old", name);
  struct stat status;
  if (fstatat(place->parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  struct place ours = *place;
  ours.expected = made;
  if (discard_expected(place, name) == GONE || discard_expected(&ours, name) == GONE) return;
  if (rename_with(place, name, place->name, RENAME_NOREPLACE) != 0) set_aside(place, name);
}
