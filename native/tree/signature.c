/*
 * Signature files: what a tree looked like, so that a later scan knows what changed. Host byte order, a cache of this
 * host; a header, records in walk order with the path front-coded (so that a deep chain stays linear), a checksum.
 * A file that is missing, damaged or of another version counts as an empty tree.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct header {
  char magic[8];
  uint64_t order; /* refuses a file of the other byte order */
  uint64_t length, checksum;
};
static const char magic[8] = "CTXSIG1\n";

struct record {
  uint32_t shared, rest; /* bytes of the path taken from the record before, and bytes that follow */
  uint32_t mode, uid, gid, padding;
  uint64_t size, inode;
  int64_t modified, changed;
};

static uint64_t checksum(const char *data, size_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15, word;
  for (; length >= 8; data += 8, length -= 8) {
    memcpy(&word, data, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  word = 0;
  memcpy(&word, data, length);
  return (hash ^ word) * 0xc4ceb9fe1a85ec53;
}

/* The old file, read record by record. */
struct old {
  const char *at, *end;
  struct record record;
  struct buffer path; /* NUL-terminated; length without it */
  bool present;
};

static void advance(struct old *old) {
  old->present = false;
  if ((size_t)(old->end - old->at) < sizeof old->record) return;
  memcpy(&old->record, old->at, sizeof old->record);
  if (old->record.shared > old->path.length) return;
  if (old->record.rest > (size_t)(old->end - old->at) - sizeof old->record) return;
  old->path.length = old->record.shared;
  append(&old->path, old->at + sizeof old->record, old->record.rest);
  append(&old->path, "", 1);
  old->path.length--;
  old->at += sizeof old->record + old->record.rest;
  old->present = true;
}

static void open_old(struct old *old, const char *path) {
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status;
  struct header header;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size >= sizeof header) {
    size_t length = (size_t)status.st_size;
    const char *data = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (data != MAP_FAILED) {
      memcpy(&header, data, sizeof header);
      const char *records = data + sizeof header;
      if (memcmp(header.magic, magic, sizeof magic) == 0 && header.order == 0x0102030405060708 &&
          header.length == length - sizeof header && header.checksum == checksum(records, header.length)) {
        old->at = records;
        old->end = data + length;
        advance(old);
      }
    }
  }
  close(fd);
}

/* Walk order: component by component, so '/' sorts before every byte of a name. */
static int compare_paths(const struct buffer *left, const struct buffer *right) {
  size_t shorter = left->length < right->length ? left->length : right->length;
  if (left->length == right->length && memcmp(left->data, right->data, shorter) == 0) return 0;
  for (size_t i = 0; i < shorter; i++) {
    unsigned char a = (unsigned char)left->data[i], b = (unsigned char)right->data[i];
    if (a != b) return a == '/' ? -1 : b == '/' ? 1 : a < b ? -1 : 1;
  }
  return left->length < right->length ? -1 : 1;
}

struct writer {
  struct buffer file, path, last;
  struct old old;
  int root;
  bool compares, napped;
};

static void put_change(const char *path, const char *what) {
  if (is_left_out(path)) return;
  put_field(path);
  put_field(what);
}

static void compare_with_old(struct writer *writer, const struct record *record) {
  struct old *old = &writer->old;
  int order = 1;
  while (old->present && (order = compare_paths(&old->path, &writer->path)) < 0) {
    if (old->path.length > 0) put_change(old->path.data, "removed");
    advance(old);
  }
  if (!old->present || order > 0) {
    if (writer->path.length > 0) put_change(writer->path.data, "added");
    return;
  }
  const struct record *before = &old->record;
  bool times = before->modified == record->modified && before->changed == record->changed;
  /* An untrusted time (0) differs from everything, itself included. */
  bool trusted = S_ISDIR(record->mode) || before->changed != 0;
  if (before->mode != record->mode || before->uid != record->uid || before->gid != record->gid ||
      before->size != record->size || before->inode != record->inode || !times || !trusted)
    put_change(writer->path.length > 0 ? writer->path.data : ".", "changed");
  advance(old);
}

/* The entry again, now that its times can be trusted; one that is still being written never counts as unchanged. */
static bool settle(struct writer *writer, struct node *node) {
  struct stat status;
  const char *name;
  struct anchor anchor = {.root = writer->root};
  int parent = anchor_parent(&anchor, writer->path.data, &name);
  bool present = parent >= 0 && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode);
  if (present && !writer->napped) {
    nap_in_full(); /* all that were met so far are trusted after it, not this one alone */
    writer->napped = true;
    present = fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode);
  }
  anchor_forget(&anchor);
  if (!present) return false;
  set_node(node, &status);
  if (is_racy(&status)) node->changed = 0;
  return true;
}

static void write_directory(struct writer *writer, const struct directory *directory) {
  if (directory->node != NULL) append(&writer->path, "/", 1);
  size_t prefix = writer->path.length;
  for (struct node *node = directory->nodes; node < directory->nodes + directory->listing.count; node++) {
    if (node->mode == 0) continue;
    writer->path.length = prefix;
    append(&writer->path, node->name, strlen(node->name) + 1);
    writer->path.length--;
    if (node->racy && writer->root >= 0 && !settle(writer, node)) continue;
    /* The record before is of this directory or below it, so at least the prefix is shared. */
    size_t shared = prefix < writer->last.length ? prefix : writer->last.length;
    while (shared < writer->last.length && shared < writer->path.length &&
           writer->last.data[shared] == writer->path.data[shared])
      shared++;
    struct record record = {
        .shared = (uint32_t)shared,
        .rest = (uint32_t)(writer->path.length - shared),
        .mode = node->mode,
        .uid = node->uid,
        .gid = node->gid,
        .size = node->size,
    };
    /* What is made or deleted in a directory is no change of its own. */
    if (!S_ISDIR(node->mode)) {
      record.inode = node->inode;
      record.modified = node->modified;
      record.changed = node->changed;
    }
    append(&writer->file, &record, sizeof record);
    append(&writer->file, writer->path.data + shared, record.rest);
    writer->last.length = shared;
    append(&writer->last, writer->path.data + shared, record.rest);
    if (writer->compares) compare_with_old(writer, &record);
    if (node->directory != NULL) write_directory(writer, node->directory);
  }
  writer->path.length = prefix;
}

/* The root itself, under the empty path: it sorts before everything. It is neither added nor removed, only changed. */
static void write_top(struct writer *writer, const struct directory *root) {
  struct record record = {.mode = root->status.st_mode, .uid = root->status.st_uid, .gid = root->status.st_gid};
  append(&writer->path, "", 1);
  writer->path.length = 0;
  append(&writer->file, &record, sizeof record);
  if (writer->compares) compare_with_old(writer, &record);
}

/* The same bytes are there. They are not written again: some disks wait for the blocks of a file that is replaced. */
static bool is_there(const char *path, const struct buffer *file) {
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat status;
  bool same = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == file->length;
  if (same) {
    void *data = mmap(NULL, file->length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    same = data != MAP_FAILED && memcmp(data, file->data, file->length) == 0;
    if (data != MAP_FAILED) munmap(data, file->length);
  }
  close(fd);
  return same;
}

void write_signatures(const struct directory *root, const char *path, const char *against) {
  struct writer writer = {.root = root->target < 0 ? root->source : -1, .compares = against != NULL};
  if (against != NULL) open_old(&writer.old, against);
  struct header header = {.order = 0x0102030405060708};
  memcpy(header.magic, magic, sizeof magic);
  append(&writer.file, &header, sizeof header);
  write_top(&writer, root);
  write_directory(&writer, root);
  for (; writer.old.present; advance(&writer.old)) put_change(writer.old.path.data, "removed");
  header.length = writer.file.length - sizeof header;
  header.checksum = checksum(writer.file.data + sizeof header, header.length);
  memcpy(writer.file.data, &header, sizeof header);
  if (path == NULL || is_there(path, &writer.file)) return;

  size_t length = strlen(path);
  char *fresh = allocate(length + 5);
  memcpy(fresh, path, length);
  memcpy(fresh + length, ".new", 5);
  unlink(fresh);
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) fail(errno, "write", fresh);
  int error = write_all(fd, writer.file.data, writer.file.length);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(fresh, path) != 0) error = errno;
  if (error != 0) {
    unlink(fresh);
    fail(error, "write", path);
  }
}
