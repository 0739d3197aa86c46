/* The caller's store, and the sockets in it. */
#ifndef CTX_CALL_STORE_H
#define CTX_CALL_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of `below` in the store; false where the store has no place, or one that is too long. */
bool store_path(char path[PATH_MAX], const char *below);

/* FNV-1a: names for paths. */
uint64_t hash(const char *bytes, size_t size);

/*
 * A socket of our own user in that directory; -1 where no one listens any more, or somebody else. `type` as socket(2)
 * has it.
 */
int connect_to(int directory, const char *name, int type);

#endif
