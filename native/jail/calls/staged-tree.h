/*
 * A second tree of a directory's files, linked, beside it: filled, put in its place, or undone. Until the first tree is
 * emptied all of it is at its place, and whatever fails meanwhile is undone from what the two trees hold: nothing has
 * to be remembered.
 */
#ifndef CTX_JAIL_STAGED_TREE_H
#define CTX_JAIL_STAGED_TREE_H

#include "calls/copy-for-rename.h"

/* Names of one file that has several, found in the first tree: they shall be names of one file in the second. */
struct linked_files;

struct staged_tree {
  int top; /* of the second tree */
  struct linked_files *linked;
  struct copied_for_rename *cost;
};

/*
 * Each returns 0, or what went wrong. `from` is the first tree's directory, `to` the second's; `mode` is what it shall
 * have.
 */
int staged_fill(struct staged_tree *tree, int from, int to, unsigned mode);
int staged_empty(struct staged_tree *tree, int from, int to);
/* Brings back to the first tree what is in the second alone, and removes the second's entries. */
void staged_undo(int from, int to);
void staged_forget(struct staged_tree *tree);

/*
 * Opens a directory of this user's to be read and written, whatever its mode was before; that is in `mode`. -1 with
 * errno.
 */
int open_to_change(int parent, const char *name, unsigned *mode);

#endif
