/* What the parts of apply share: the verb (apply.c), what it puts (put.c) and the times it gives (dates.c). */
#ifndef TREE_APPLY_H
#define TREE_APPLY_H

#include "tree.h"

/* An entry, and the time it gets when everything is written. */
struct dated {
  char *path;
  struct timespec time;
  bool aged; /* before --before, and not after everything */
};

struct apply {
  const struct options *options;
  struct anchor root;
  struct resolver uppers, expected;
  struct found looked_at; /* of the place at hand */
  const char *action;
  struct stat above; /* of the directory it is in, as long as only files are put there */
  bool knows_above;
  struct dated *dated;
  size_t dated_count, dated_room;
  struct order order, aged;
  char *parent; /* the last directory that was dated for what changed in it */
};

/* What the entry is given as its owner. `apply->above` is the directory it is put into. */
void set_owner(struct place *place, const struct stat *status, const struct apply *apply);
enum replaced put_file_or_link(const struct apply *apply, const struct place *place, const struct found *found);
enum replaced put_special(const struct place *place, const struct found *found);
enum replaced put_directory(const struct place *place, const struct found *found);
/* A name that the directory has already, of a file that others will be put as further names of. */
void know_link(struct apply *apply, const char *path);

/* The entry gets this time when everything is written. */
void date_later(struct apply *apply, const char *path, struct timespec time, bool aged);
/* After an action: counts what it did in the order of times. `put`: the entry of the layers, where it is known. */
void date_action(struct apply *apply, const char *action, const char *path, const struct stat *put);
void set_dates(struct apply *apply);

#endif
