/*
 * diff: what the upper layers change in what the lower ones show. Only directories that an upper layer holds are
 * entered, so the cost follows the changes; lower directories are listed only where something hides them.
 * An entry whose attributes alone differ is modified as one with another mode is.
 * With --times: the regular files and symbolic links above that are new, changed, of another time, or hard links, with
 * their times; with --present, not those that are new and no hard links. With --timed: the changes, an empty field,
 * then these files, all from one walk; new hard links only of files that have a name below.
 *
 * An agent chooses how deep a tree is, and whole paths of a deep one are its depth squared. With --most, the parts of
 * paths beyond ORDINARY_PATH are so many bytes together at most; a directory whose entries would be more is told with
 * how many entries it holds, and not entered. Neither is one for which there are no descriptors left. With --entries,
 * neither is one whose entries would make the list longer than that, long paths counted several times. With --under,
 * only what is at or below these paths is listed, and what is above them. With --count the changes are counted, up to
 * that number, and not listed. With --stampless no entry has a stamp. With --trees those of stdin are not entered.
 */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Bytes of a path that people and programs have: these are always listed. */
enum { ORDINARY_PATH = 512 };
/* Bytes of a path that one entry of --entries has room for; so many more count as another one. */
enum { ENTRY_PATH = 128, MORE_PATH = 32 };

static bool lists_changes, lists_times, lists_present, stamps;
static struct buffer timed; /* files with their times, which come after all changes */
static const struct strings *unders;
static struct buffer path; /* of the entry at hand, NUL-terminated, length without the NUL */
static uint64_t room_left; /* for what paths are longer than ordinary ones */
static uint64_t entries_left;
static uint64_t count_limit, counted;
static size_t descriptors_left;

const char *type_name(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFREG:
    return "file";
  case S_IFDIR:
    return "directory";
  case S_IFLNK:
    return "symlink";
  case S_IFIFO:
    return "fifo";
  case S_IFSOCK:
    return "socket";
  default:
    return "device";
  }
}

/*
 * Changes when the entry is written again, even to the same size. A directory has none: its times follow its entries,
 * which are listed themselves. Neither has a deleted entry: all whiteouts of a layer may be one inode.
 */
static void put_stamp(const char *kind, const struct stat *status) {
  char text[64] = "";
  if (stamps && !S_ISDIR(status->st_mode) && strcmp(kind, "deleted") != 0)
    snprintf(text, sizeof text, "%llu.%lld", (unsigned long long)status->st_ino,
             (long long)nanoseconds(status->st_ctim));
  put_field(text);
}

/* Ends the program where there are as many as anybody wants to know. */
static void count_change(uint64_t unlisted) {
  counted += 1 + unlisted;
  if (counted < count_limit) return;
  put_number(count_limit, false);
  flush_output();
  exit(0);
}

static void put_change(const char *kind, const struct stat *status, bool content, uint64_t unlisted) {
  if (count_limit > 0) return count_change(unlisted);
  put_field(kind);
  put_field(type_name(status->st_mode));
  put_number(status->st_mode & 07777, true);
  put_number(S_ISDIR(status->st_mode) ? 0 : (uint64_t)status->st_size, false);
  put_field(content ? "1" : "0");
  put_stamp(kind, status);
  put_number(unlisted, false);
  put_field(path.data);
}

static bool same_metadata(const struct stat *left, const struct stat *right) {
  return (S_ISLNK(left->st_mode) || left->st_mode == right->st_mode) && left->st_uid == right->st_uid &&
         left->st_gid == right->st_gid;
}

static void add_field(const char *text) {
  append(&timed, text, strlen(text) + 1);
}

static void add_number(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  add_field(text);
}

/* How an entry differs from what lies below it, as far as it is known. */
struct likeness {
  bool content, metadata;
};

static void put_times(const struct found *upper, const struct found *lower, struct likeness like) {
  const struct stat *above = &upper->status, *below = &lower->status;
  if (upper->state != FOUND_ENTRY || (!S_ISREG(above->st_mode) && !S_ISLNK(above->st_mode))) return;
  bool is_new = lower->state != FOUND_ENTRY;
  bool same = like.content && like.metadata;
  bool linked = S_ISREG(above->st_mode) && above->st_nlink > 1;
  if (is_new && !linked && lists_present) return;
  if (same && !linked && nanoseconds(above->st_mtim) == nanoseconds(below->st_mtim)) return;
  add_field(path.data);
  add_field(is_new ? "added" : same ? "same" : "modified");
  add_number((uint64_t)nanoseconds(above->st_mtim));
  add_number(is_new ? 0 : (uint64_t)nanoseconds(below->st_mtim));
  add_number(linked ? above->st_ino : 0);
  if (lists_changes) return;
  put_raw(timed.data, timed.length - 1);
  timed.length = 0;
}

static void put_entry(const struct found *upper, const struct found *lower, struct likeness like, uint64_t unlisted) {
  bool above = upper->state == FOUND_ENTRY, below = lower->state == FOUND_ENTRY;
  if (above && below) {
    if (!like.content || !like.metadata || unlisted > 0)
      put_change("modified", &upper->status, !like.content || unlisted > 0, unlisted);
  } else if (above) {
    put_change("added", &upper->status, true, unlisted);
  } else if (below) {
    put_change("deleted", &lower->status, true, unlisted);
  }
}

/* The content of files that differ in more is looked at only where that is asked; attributes only where all else is the same. */
static struct likeness compare_sides(const char *name, const struct found *upper, const struct found *lower) {
  const struct stat *above = &upper->status, *below = &lower->status;
  struct likeness like = {false, false};
  if (upper->state != FOUND_ENTRY || lower->state != FOUND_ENTRY) return like;
  like.metadata = same_metadata(above, below);
  if (!lists_changes && !like.metadata) return like;
  like.content = same_content(upper->directory, above, lower->directory, below, name, name);
  if (like.content && like.metadata) like.metadata = same_attributes(upper->directory, name, lower->directory, name);
  return like;
}

/* What both sides have of one directory. */
struct sides {
  struct layers uppers, lowers;
};

static void list_sides(const struct sides *sides, struct listing *names) {
  list_layers(&sides->uppers, names);
  if (!sides->uppers.stopped || sides->lowers.count == 0) return;
  struct listing below;
  list_layers(&sides->lowers, &below);
  merge_listings(names, &below);
}

enum relation { OUTSIDE, ABOVE, WITHIN };

/* Of the entry at hand to the paths that are asked about. */
static enum relation relation(void) {
  enum relation nearest = unders->count == 0 ? WITHIN : OUTSIDE;
  for (size_t i = 0; i < unders->count && nearest != WITHIN; i++) {
    const char *under = unders->items[i];
    size_t length = strlen(under), shorter = length < path.length ? length : path.length;
    if (memcmp(under, path.data, shorter) != 0) continue;
    if (length <= path.length && (path.data[length] == '\0' || path.data[length] == '/'))
      nearest = WITHIN;
    else if (length > path.length && under[path.length] == '/')
      nearest = ABOVE;
  }
  return nearest;
}

/*
 * Takes the room that the paths of a directory's entries need; false where there is not so much. One with a long path
 * counts as several: whoever reads the list holds it in memory.
 */
static bool take_room(const struct listing *names) {
  uint64_t needed = 0, entries = 0;
  for (size_t i = 0; i < names->count; i++) {
    size_t length = path.length + 1 + strlen(names->names[i].text);
    if (length > ORDINARY_PATH) needed += length - ORDINARY_PATH;
    entries += length > ENTRY_PATH ? 1 + (length - ENTRY_PATH) / MORE_PATH : 1;
  }
  if (needed > room_left || entries > entries_left) return false;
  room_left -= needed;
  entries_left -= entries;
  return true;
}

/* Of the layer that holds most. */
static uint64_t count_sides(const struct sides *sides) {
  uint64_t most = 0;
  const struct layers *both[] = {&sides->uppers, &sides->lowers};
  for (size_t side = 0; side < (sides->uppers.stopped ? 2 : 1); side++)
    for (size_t i = 0; i < both[side]->count; i++) {
      uint64_t count = count_entries(both[side]->fds[i]);
      if (count > most) most = count;
    }
  return most;
}

static void diff_directory(const struct sides *sides, const struct listing *names);

static void diff_entry(const struct sides *sides, const char *name) {
  enum relation asked = relation();
  if (asked == OUTSIDE) return;
  struct found upper, lower;
  struct sides children;
  look_up(&sides->uppers, name, &upper, &children.uppers);
  look_up(&sides->lowers, name, &lower, &children.lowers);
  size_t held = children.uppers.count + children.lowers.count;
  if (upper.state != FOUND_NOTHING || sides->uppers.stopped) {
    /* Whatever is not a directory above hides all of one below. */
    if (children.uppers.count == 0) children.uppers.stopped = true;
    struct listing names = {0};
    uint64_t unlisted = 0;
    bool closed = held > 0 && is_left_out_tree(path.data);
    bool enters = held > 0 && held <= descriptors_left && !closed;
    if (enters) list_sides(&children, &names);
    if (held > 0 && !closed && (!enters || (asked == WITHIN && !take_room(&names)))) {
      enters = false;
      unlisted = count_sides(&children);
    }
    struct likeness like = compare_sides(name, &upper, &lower);
    if (lists_changes) put_entry(&upper, &lower, like, unlisted);
    if (lists_times) put_times(&upper, &lower, like);
    if (enters) {
      descriptors_left -= held;
      diff_directory(&children, &names);
      descriptors_left += held;
    }
    free_listing(&names);
  }
  close_layers(&children.uppers);
  close_layers(&children.lowers);
}

static void diff_directory(const struct sides *sides, const struct listing *names) {
  size_t prefix = path.length;
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->names[i].text;
    if (prefix > 0) append(&path, "/", 1);
    append(&path, name, strlen(name) + 1);
    path.length--;
    working_on(path.data);
    diff_entry(sides, name);
    path.length = prefix;
  }
}

/* For one step down on both sides, which is taken before it is known what it needs, and for counting. */
static size_t descriptors_for_depth(const struct sides *sides) {
  struct rlimit files;
  size_t kept = 2 * (sides->uppers.count + sides->lowers.count) + 32;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= kept) return 0;
  return (size_t)files.rlim_cur - kept;
}

struct timed_file {
  const char *begin, *state, *links, *end;
};

static struct timed_file timed_file_at(const char *begin) {
  struct timed_file file = {.begin = begin};
  file.state = begin + strlen(begin) + 1;
  file.links = file.state;
  for (int skipped = 0; skipped < 3; skipped++) file.links += strlen(file.links) + 1;
  file.end = file.links + strlen(file.links) + 1;
  return file;
}

static int ascending(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

/* A new name of a file says something where the lower layers have another name of it. Layers that were merged share many. */
static void drop_apart_links(void) {
  uint64_t *known = NULL;
  size_t count = 0, room = 0, kept = 0;
  for (const char *at = timed.data; at < timed.data + timed.length;) {
    struct timed_file file = timed_file_at(at);
    at = file.end;
    if (strcmp(file.state, "same") != 0 || strcmp(file.links, "0") == 0) continue;
    if (count == room) known = reallocate(known, (room = room * 2 + 64) * sizeof *known);
    known[count++] = strtoull(file.links, NULL, 10);
  }
  if (count > 1) qsort(known, count, sizeof *known, ascending);
  for (const char *at = timed.data; at < timed.data + timed.length;) {
    struct timed_file file = timed_file_at(at);
    uint64_t links = strtoull(file.links, NULL, 10);
    size_t length = (size_t)(file.end - file.begin);
    bool apart = strcmp(file.state, "added") == 0 &&
                 (count == 0 || bsearch(&links, known, count, sizeof *known, ascending) == NULL);
    at = file.end;
    if (apart) continue;
    memmove(timed.data + kept, file.begin, length);
    kept += length;
  }
  timed.length = kept;
  free(known);
}

int diff_verb(const struct options *options) {
  if (options->trees) leave_trees_out(options);
  past_closed_directories = options->past_closed;
  lists_times = options->times || options->timed;
  lists_changes = !options->times;
  lists_present = options->present;
  stamps = !options->stampless;
  unders = &options->unders;
  count_limit = options->count;
  struct sides sides = {open_layers(&options->uppers), open_layers(&options->layers)};
  struct stat above, below;
  struct listing names;
  room_left = options->most == 0 ? UINT64_MAX : options->most;
  entries_left = options->entries == 0 ? UINT64_MAX : options->entries;
  descriptors_left = descriptors_for_depth(&sides);
  sides.uppers.stopped = options->whole;
  list_sides(&sides, &names);
  bool listed = unders->count > 0 || take_room(&names);
  uint64_t unlisted = listed ? 0 : count_sides(&sides);
  if (lists_changes && (sides.lowers.count > 0 || unlisted > 0)) {
    if (fstat(sides.uppers.fds[0], &above) != 0) fail(errno, "stat", ".");
    if (sides.lowers.count > 0 && fstat(sides.lowers.fds[0], &below) != 0) fail(errno, "stat", ".");
    bool same = sides.lowers.count == 0 || same_top(&above, &below);
    append(&path, ".", 2);
    if (!same || unlisted > 0) put_change("modified", &above, unlisted > 0, unlisted);
    path.length = 0;
  }
  if (listed) diff_directory(&sides, &names);
  if (count_limit > 0) put_number(counted, false);
  if (options->timed) {
    drop_apart_links();
    put_field(""); /* no kind of a change: what follows are files with their times */
    if (timed.length > 0) put_raw(timed.data, timed.length - 1);
  }
  free_listing(&names);
  return 0;
}
