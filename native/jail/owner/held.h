/*
 * Files that have no name any more and are still held: deleted while they were open, or made without a name. They take
 * room that no walk of the tree finds, so the process that limits it is told by the owner, which alone may look into
 * every process inside.
 *
 * Looked at in slices, since how many descriptors there are is a command's to choose. What cannot be measured is said
 * to be there: files that are only mapped, and descriptors that are under way in a socket.
 */
#ifndef CTX_JAIL_HELD_H
#define CTX_JAIL_HELD_H

#include "plan.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MOST_HELD_PLACES = 32 };

struct held_sum {
  uint64_t bytes, files;
  bool hidden;
};

struct held_file;

struct held {
  uint32_t id;
  uint32_t count;
  dev_t devices[MOST_HELD_PLACES];
  char *paths[MOST_HELD_PLACES]; /* as the maps of a process name them */
  long long next;                /* when it is time for a slice; 0 where nothing is looked at */
  struct held_sum last;
  struct {
    DIR *processes, *tasks, *descriptors;
    struct held_file *files;
    size_t count, capacity;
    bool hidden;
  } pass; /* one walk over all descriptors, with what it found so far */
};

/*
 * Looking begins anew for a command with OP_HELD, and ends where one has none. Reports "held BYTES FILES HIDDEN" are
 * about `id`.
 */
void held_watch(struct held *held, const struct plan *command, uint32_t id);

/* The command that it was told to has ended: another that still runs hears of it from here on. */
void held_follow(struct held *held, uint32_t ended, uint32_t other);

/* How long to wait at most for the next look; -1 where nothing is looked at. */
int held_patience(const struct held *held);

/* One slice, where it is time for one. */
void held_look(struct held *held);

#endif
