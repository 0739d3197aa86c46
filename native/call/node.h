/* The Node that the caller's PATH names. */
#ifndef CTX_CALL_NODE_H
#define CTX_CALL_NODE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

bool find_node(char path[PATH_MAX], struct stat *found);

/* `words` begin with its name. Returns, with errno, where it cannot be started. */
void start_node(char **words);

#endif
