/*
 * diff: what the upper layers change in what the lower ones show. Only directories that an upper layer holds are
 * entered, so the cost follows the changes; lower directories are listed only where something hides them.
 */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct buffer path; /* of the entry at hand, NUL-terminated, length without the NUL */

static const char *type_name(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return "file";
    case S_IFDIR: return "directory";
    case S_IFLNK: return "symlink";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    default: return "device";
  }
}

/*
 * Changes when the entry is written again, even to the same size. A directory has none: its times follow its entries,
 * which are listed themselves. Neither has a deleted entry: all whiteouts of a layer may be one inode.
 */
static void put_stamp(const char *kind, const struct stat *status) {
  char text[64] = "";
  if (!S_ISDIR(status->st_mode) && strcmp(kind, "deleted") != 0)
    snprintf(text, sizeof text, "%llu.%lld", (unsigned long long)status->st_ino, (long long)nanoseconds(status->st_ctim));
  put_field(text);
}

static void put_change(const char *kind, const struct stat *status, bool content) {
  put_field(kind);
  put_field(type_name(status->st_mode));
  put_number(status->st_mode & 07777, true);
  put_number(S_ISDIR(status->st_mode) ? 0 : (uint64_t)status->st_size, false);
  put_field(content ? "1" : "0");
  put_stamp(kind, status);
  put_field(path.data);
}

static bool same_metadata(const struct stat *left, const struct stat *right) {
  return (S_ISLNK(left->st_mode) || left->st_mode == right->st_mode) && left->st_uid == right->st_uid &&
         left->st_gid == right->st_gid;
}

static void put_entry(const char *name, const struct found *upper, const struct found *lower) {
  bool above = upper->state == FOUND_ENTRY, below = lower->state == FOUND_ENTRY;
  if (above && below) {
    bool same = same_content(upper->directory, &upper->status, lower->directory, &lower->status, name, name);
    if (!same || !same_metadata(&upper->status, &lower->status)) put_change("modified", &upper->status, !same);
  } else if (above) {
    put_change("added", &upper->status, true);
  } else if (below) {
    put_change("deleted", &lower->status, true);
  }
}

static void diff_directory(const struct layers *uppers, const struct layers *lowers) {
  struct listing names;
  list_layers(uppers, &names);
  if (uppers->stopped && lowers->count > 0) {
    struct listing below;
    list_layers(lowers, &below);
    merge_listings(&names, &below);
  }
  size_t prefix = path.length;
  for (size_t i = 0; i < names.count; i++) {
    const char *name = names.names[i].text;
    if (prefix > 0) append(&path, "/", 1);
    append(&path, name, strlen(name) + 1);
    path.length--;
    working_on(path.data);
    struct found upper, lower;
    struct layers upper_children, lower_children;
    look_up(uppers, name, &upper, &upper_children);
    look_up(lowers, name, &lower, &lower_children);
    if (upper.state != FOUND_NOTHING || uppers->stopped) {
      put_entry(name, &upper, &lower);
      /* Whatever is not a directory above hides all of one below. */
      if (upper_children.count == 0) upper_children.stopped = true;
      if (upper_children.count > 0 || lower_children.count > 0) diff_directory(&upper_children, &lower_children);
    }
    close_layers(&upper_children);
    close_layers(&lower_children);
    path.length = prefix;
  }
  free_listing(&names);
}

int diff_verb(const struct options *options) {
  past_closed_directories = options->past_closed;
  struct layers uppers = open_layers(&options->uppers), lowers = open_layers(&options->layers);
  struct stat above, below;
  uppers.stopped = options->whole;
  if (lowers.count > 0) {
    if (fstat(uppers.fds[0], &above) != 0 || fstat(lowers.fds[0], &below) != 0) fail(errno, "stat", ".");
    append(&path, ".", 2);
    if (!same_top(&above, &below)) put_change("modified", &above, false);
    path.length = 0;
  }
  diff_directory(&uppers, &lowers);
  return 0;
}
