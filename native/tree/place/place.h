/* One entry's place in the person's directory, and what may be done there without losing a save of theirs. */
#ifndef TREE_PLACE_H
#define TREE_PLACE_H

#include "tree.h"

struct place {
  const char *path, *name;
  const char *made_as; /* of a directory that is made beside its place (beside.c); else NULL */
  int parent;
  uid_t uid;
  gid_t gid;
  uid_t lent_uid; /* of the parent's owner, with whose ids names are made and removed in it */
  gid_t lent_gid;
  bool lends, persons; /* persons: in a directory of a person, not of the store */
  bool undoes;         /* what is put is what was there before an apply, to the last bit of a mode */
  bool live;           /* programs of a fork are at work there: to them a name that changes for a moment is a change */
  bool chowns, dated;  /* dated: with the time it has in the layers; else with that of writing, until the end */
  const struct found *expected; /* what was looked at there; NULL: whatever there is, is replaced */
};
enum replaced {
  REPLACED,
  CLASHED, /* the place does not hold what was looked at: it has what the person put there, and nothing is lost */
  LATER,   /* it is whole, and waits for its name (batch.c) */
  BLOCKED, /* nothing was done: files that wait for their names have to get them first */
};

/* owner.c: between these two, as the owner of the place's directory, where we are root and it is somebody else's. */
void lend_ids(struct place *place,
              const struct stat *parent); /* in a directory of a person; the store's are all ours */
void write_as_owner(const struct place *place);
void write_as_self(const struct place *place);

/* names.c */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif
void name_beside(const struct place *place, const char *ending, char text[64]);
int rename_with(const struct place *place, const char *from, const char *to, unsigned flags);
int rename_plainly(const struct place *place, const char *from, const char *to);
int unlink_in(const struct place *place, const char *name, int flags);
int link_unnamed(const struct place *place, int fd, const char *name);

/* remove-tree.c: never fails, follows nothing, and enters no other filesystem. */
bool remove_tree(int parent, const char *name);

/* aside.c: what has the name `old`; what is left of a file that has no name any more. */
void set_aside(const struct place *place, const char *old);
void save_beside(const struct place *place, int from);

/* retired.c */
int lease(const struct place *place, const char *name); /* -1, with EAGAIN: a program has it open for writing */
bool is_wanted(int leased);                             /* a program waits for it, to write */
/* A file that was taken away from the place; its lease is kept for a moment. */
void retire(const struct place *place, int leased);
void let_wanted_go(void);
void let_retired_go(void);

/* replace.c: `temporary` is whole, and beside the place. */
enum replaced put_in_place(const struct place *place, const char *temporary);
/* The same for a file that is whole and has no name; its descriptor is closed. */
enum replaced put_unnamed_in_place(const struct place *place, int fd);
enum replaced take_away(const struct place *place);
/* Whether it is known by a look alone that a live place does not hold what was looked at before. */
bool is_changed_live(const struct place *place);
/* What a run that was killed left beside the place; `made` is what it was to put there. */
void sweep(const struct place *place, const struct found *made);
/* The same where nothing is made under the name of a new one. */
void sweep_old(const struct place *place, const struct found *made);

/*
 * acl.c: the list of rights that the file at the place has is given to the one that replaces it; false: it could not
 * be.
 */
bool keep_access_list(const struct place *place, int to);
/* For an undo: the list that the file had when it was mirrored; -1: it had none, 0: it cannot be set. */
int restore_access_list(int mirrored, int to);
/* An apply that could not keep a list took the rights of the group along: what it left is what it wrote. */
bool is_narrowed(mode_t written, mode_t there);
void mirror_access_list(int from, int parent, const char *name);

#endif
