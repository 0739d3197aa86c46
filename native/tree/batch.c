/*
 * Files that are whole but have no name yet (O_TMPFILE): their bytes go to the disk together, and each gets its name
 * once its own are there. One at a time, a directory of small files waits for the disk as often as it has files.
 * Nothing is left behind by whoever is killed in between.
 *
 * A file is named by way of the directory that was open when it was made. One that replaces another is compared with
 * what was kept of that one, through the resolver's directories: it is named before these change (`bound`).
 */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BATCH_FILES = 256 };
/* More than this in files of one batch would only be waited for at its end. */
static const uint64_t batch_bytes = 32 << 20;

static struct waiting files[BATCH_FILES];
static size_t file_count;
static uint64_t byte_count;
static bool bound, linked;

/* Directories that were left since files of theirs were made: kept open for these. */
static int kept[BATCH_FILES];
static size_t kept_count, attached_from;

static int open_nameless(const struct place *place, mode_t mode) {
  write_as_owner(place);
  int fd = openat(place->parent, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  write_as_self(place);
  return fd;
}

/*
 * Once: whether such a file can be named here. Filesystems without them say so at the first step, a host without /proc
 * at the second.
 */
static bool can_name(const struct place *place) {
  static enum { UNKNOWN, YES, NO } answer;
  if (answer != UNKNOWN) return answer == YES;
  char name[64];
  name_beside(place, "new", name);
  (void)!unlink_in(place, name, 0);
  int fd = open_nameless(place, 0600);
  guard_temporary(place->parent, name);
  /* A name that cannot be taken away again is that of the file that is made under one, and gets its place. */
  bool named = fd >= 0 && link_unnamed(place, fd, name) == 0 && unlink_in(place, name, 0) == 0;
  guard_temporary(-1, "");
  if (fd >= 0) close(fd);
  answer = named ? YES : NO;
  return named;
}

int open_unnamed(const struct place *place, mode_t mode) {
  /* Of another owner, the one whose ids are lent may not link it. */
  if (place->lends && place->chowns && place->uid != place->lent_uid) return -1;
  return can_name(place) ? open_nameless(place, mode) : -1;
}

void start_writing(int fd) {
  (void)!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void finish_writing(int fd, const char *path) {
  /* Waited for: a journal may have the name on the disk before the bytes. */
  const unsigned whole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(fd, 0, 0, whole) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) fail(errno, "write", path);
}

void add_waiting(const struct waiting *file) {
  struct waiting *added = &files[file_count++];
  *added = *file;
  byte_count += (uint64_t)file->status.st_size;
  if (file->link != NULL) linked = true;
  if (file->place.expected == NULL || file->place.expected->state != FOUND_ENTRY) {
    added->looked_at = (struct found){.state = FOUND_NOTHING};
  } else {
    added->looked_at = *file->place.expected;
    bound = true;
  }
  added->place.expected = &added->looked_at;
}

size_t quarter_of_descriptors(void) {
  static size_t quarter;
  struct rlimit limit;
  if (quarter > 0) return quarter;
  return quarter = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 256 ? (limit.rlim_cur - 192) / 4 : 1;
}

/* Each has a descriptor, and its directory may have one, too. */
static size_t most_files(void) {
  size_t quarter = quarter_of_descriptors();
  return quarter < BATCH_FILES ? quarter : BATCH_FILES;
}

bool is_batch_full(void) {
  return file_count >= most_files() || byte_count >= batch_bytes;
}

bool has_linked_waiting(void) {
  return linked;
}

/* The directory of the last files is left: false where they have to be named first. */
bool leave_batch_directory(void) {
  if (bound) return false;
  if (attached_from == file_count) return true;
  int fd = fcntl(files[attached_from].place.parent, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return false;
  kept[kept_count++] = fd;
  for (; attached_from < file_count; attached_from++) files[attached_from].place.parent = fd;
  return true;
}

void name_batch(bool durable, void (*named)(void *context, const struct waiting *file, enum replaced replaced),
                void *context) {
  for (size_t i = 0; i < file_count; i++) {
    struct waiting *file = &files[i];
    working_on(file->place.path);
    if (durable) finish_writing(file->fd, file->place.path);
    /* Told at once: after a failure of the next one, this one has happened. */
    named(context, file, put_unnamed_in_place(&file->place, file->fd));
  }
  while (kept_count > 0) close(kept[--kept_count]);
  file_count = attached_from = 0;
  byte_count = 0;
  bound = linked = false;
}
