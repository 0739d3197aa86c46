/*
 * STORE/keeper/KEY/: one directory for each build, with mode 0700; and `stopped`, whose time is
 * that of the last `ctx stop --all`.
 *
 *   lock     held (flock) by the keeper that lives or starts; says its process. Its time is that of a start that has
 * not succeeded yet socket   packets as native/keeper-wire.h has them error    what a keeper that did not start had to
 * say
 */
#ifndef CTX_CALL_KEEPER_PLACE_H
#define CTX_CALL_KEEPER_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { KEY_SIZE = 17, TRAITS_SIZE = 512 };

/* Of the build that `program` is of; false where it cannot be looked at. */
bool keeper_key(const char *program, char key[KEY_SIZE]);

/*
 * A directory that is ours alone, by its descriptor; -1 where there is none. `make`: made where the one above it is
 * there.
 */
int open_own(int above, const char *name, bool make);

/*
 * A keeper holds a file of memory whose name is a word, where only a process that may trace it can read it
 * (/proc/PID/fd). A caller has to say it: a Landlock domain is not to be seen in /proc, and one that the keeper is not
 * in keeps the caller from looking. The environment would not do: for that CAP_PERFMON is enough.
 */
enum { WORD_SIZE = 33, WORD_DESCRIPTOR = 4 };

/* Of the process at the other end of the socket; false where it cannot be read. */
bool read_keeper_word(int socket, char word[WORD_SIZE]);

/* What of this process others may not be allowed to see, and its copies inherit. */
void own_traits(char text[TRAITS_SIZE]);

#endif
