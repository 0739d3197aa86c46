/*
 * STORE/keeper/KEY/: one directory for each build, with mode 0700.
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

enum { KEY_SIZE = 17, TRAITS_SIZE = 64 };

/* Of the build that `program` is of; false where it cannot be looked at. */
bool keeper_key(const char *program, char key[KEY_SIZE]);

/*
 * A directory that is ours alone, by its descriptor; -1 where there is none. `make`: made where the one above it is
 * there.
 */
int open_own(int above, const char *name, bool make);

/* What of this process others may not be allowed to see, and its copies inherit. */
void own_traits(char text[TRAITS_SIZE]);

#endif
