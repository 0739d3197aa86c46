/*
 * What the owner of a view wants done to files, in the mount and with the ids of the caller of the tool. Every path is
 * opened beneath a directory that the owner names: no link, no `..` and no magic link leads out of it, which the kernel
 * holds (openat2).
 *
 *   request  u8 what, u32 flags, u64 offset, u32 length, then NUL-ended: the directory, the path in it; then bytes to
 * be written reply    u32 errno; where it is 0: 'r'    attributes, then the bytes from `offset` on, at most `length`
 *     's'    attributes of the entry itself, then where a link leads
 *     'l'    u8 whether there is more, then for each entry: u8 type, u64 size, the name and a NUL
 *     'w'    nothing: it is written
 *   attributes  u8 type (as DT_*), u32 mode, u64 size, u64 seconds since 1970
 */
#ifndef CTX_OBJECT_CALLER_FILES_H
#define CTX_OBJECT_CALLER_FILES_H

#include <stddef.h>

enum {
  WRITE_NEW = 1,     /* EEXIST where it is there */
  WRITE_PARENTS = 2, /* the directories above it are made */
  WRITE_MORE = 4,    /* at `offset`, of a file that is there; without it, all of it */
};

/* The reply's size, in `reply`, which has room for FRAME_MOST. */
size_t do_to_file(const char *request, size_t size, char *reply);

#endif
