/*
 * Renaming a directory that the overlay shows from a lower layer is EXDEV: the kernel renames only directories that lie
 * in the upper layer alone. So before such a call goes on, the directory is replaced, under its own name, by an equal
 * one that lies there alone. That changes nothing which anybody could see by path, no matter who asked for it; the call
 * itself is then the kernel's to judge and to carry out.
 *
 * All of it runs in a process of the command's own user and Landlock domain: it can do nothing that the command could
 * not do.
 */
#ifndef CTX_JAIL_COPY_FOR_RENAME_H
#define CTX_JAIL_COPY_FOR_RENAME_H

#include <stdbool.h>
#include <stdint.h>

/* What it cost. */
struct copied_for_rename {
  uint32_t directories; /* that were asked for */
  uint64_t files, bytes;
};

/* One name of a rename call: relative to a directory, unless the path is absolute. */
struct name {
  int base;
  const char *path;
};

/*
 * To be called before renameat2 with these arguments. Returns 0 where the kernel shall go on with the call, whatever it
 * will say; else the error that is its answer.
 */
int copy_for_rename(struct name from, struct name to, unsigned flags, struct copied_for_rename *cost);

#endif
