/*
 * What the parts of apply share: the verb (apply.c), what it puts (put.c), what waits (batch.c, units.c, beside.c) and
 * the times it gives (dates.c).
 */
#ifndef TREE_APPLY_H
#define TREE_APPLY_H

#include "place/place.h"

/* An entry, and the time it gets when everything is written. */
struct dated {
  const char *path;
  struct timespec time;
  bool aged;    /* before --before, and not after everything */
  bool dropped; /* it was not put after all */
};

/*
 * batch.c: how many descriptors may be kept open for each of these: files that wait for their names, the directories of
 * these, and directories that are made beside their places. The last quarter is for what was taken away (retired.c).
 */
size_t quarter_of_descriptors(void);

/* A file that is whole and waits for its name. */
struct waiting {
  struct place place;
  const char *action;
  struct found looked_at; /* what stood there */
  struct stat status;     /* of what it was made of */
  struct link *link;      /* further names of it may follow; else NULL */
  struct stat made;       /* of the file, where they may */
  int fd;
};
int open_unnamed(const struct place *place, mode_t mode); /* -1: make it under a name */
void start_writing(int fd);
void finish_writing(int fd, const char *path);
void add_waiting(const struct waiting *file);
bool is_batch_full(void);
bool has_linked_waiting(void); /* one of which further names may follow */
bool leave_batch_directory(void);
void name_batch(bool durable, void (*named)(void *context, const struct waiting *file, enum replaced replaced),
                void *context);

/* Records of the plan, by their positions. */
struct span {
  size_t begin, end;
};

/* A directory that is made beside its place; it owns a descriptor of the place's parent. */
struct unit {
  struct place place;
  char temporary[64];
  struct span records;
  size_t dated_from, dated_to; /* what is given times with it */
};

struct beside {
  struct unit *units; /* whole ones, which wait for the disk; the last is being made where `building` says so */
  size_t count, room;
  size_t entries; /* in all of them */
  bool building;
  size_t prefix;        /* of paths in the one that is being made: its own and a slash */
  struct anchor inside; /* that one */
};

struct apply {
  const struct options *options;
  struct records *records;
  size_t at;  /* of the record at hand */
  bool plain; /* nothing is made beside its place */
  struct beside beside;
  struct anchor root;
  struct resolver uppers, expected;
  struct found looked_at; /* of the place at hand */
  const char *action;
  struct stat status; /* of the entry in the layers that was put last */
  struct stat above;  /* of the directory it is in, as long as only files are put there */
  bool knows_above;
  struct dated *dated;
  size_t dated_count, dated_room;
  struct order order, aged;
  char *parent; /* the last directory that was dated for what changed in it */
};

/* What the entry is given as its owner. `apply->above` is the directory it is put into. */
void set_owner(struct place *place, const struct stat *status, const struct apply *apply);
enum replaced put_file_or_link(struct apply *apply, const struct place *place, const struct found *found);
enum replaced put_special(const struct place *place, const struct found *found);
enum replaced put_directory(const struct place *place, const struct found *found);
/* A name that the directory has already, of a file that others will be put as further names of. */
void know_link(struct apply *apply, const char *path);

/* units.c: directories that are made beside their places, and wait. */
bool is_below(const char *path, const char *start, size_t length);
struct unit *last_unit(const struct apply *apply);
bool is_inside_unit(const struct apply *apply, const char *path);
/* Of one that waits: it is not at its place yet. */
bool is_of_unit(const struct apply *apply, const char *path);
/* What was put at `path` is reached from *anchor by what this answers. */
const char *anchor_of_put(struct apply *apply, const char *path, struct anchor *anchor);
/* Nothing more comes into it. */
void end_unit(struct apply *apply);

/* beside.c: the place of a directory of which nothing is there yet. False: it is made where it belongs. */
bool begin_unit(struct apply *apply, const struct place *place, const struct found *found);
bool are_units_full(const struct apply *apply);
/* Something stands in the way of the one that is being made: its records are put one by one, by the caller. */
struct span give_up_unit(struct apply *apply);
/*
 * All that wait are on the disk, and take their places; `placed` is called for each. How many did not: the records of
 * `*left`, which the caller frees, are put one by one.
 */
size_t name_units(struct apply *apply, void (*placed)(const struct apply *apply, struct span records),
                  struct span **left);
/* Between two records. */
void stop_where_wanted(struct apply *apply);

/* The entry gets this time when everything is written. */
void date_later(struct apply *apply, const char *path, struct timespec time, bool aged);
/* After an action: counts what it did in the order of times. `put`: the entry of the layers, where it is known. */
void date_action(struct apply *apply, const char *action, const char *path, const struct stat *put);
void set_dates(struct apply *apply);

#endif
