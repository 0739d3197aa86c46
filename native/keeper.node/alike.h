/* Whether two processes give the same to those that they start, as far as that is quickly seen. */
#ifndef CTX_KEEPER_ALIKE_H
#define CTX_KEEPER_ALIKE_H

#include <stdbool.h>
#include <sys/types.h>

/* Names with a space before and behind each: fields of /proc/PID/status, files there, kinds of namespaces. */
struct traits {
  const char *fields;
  const char *files;
  const char *namespaces;
};

/* True only where all of them were seen and are the same, with limits, scheduling, the root and what input and output
 * come first. Anything else is for a closer look. */
bool alike(pid_t one, pid_t other, const struct traits *traits);

#endif
