/* What a command of a kept jail writes, for the caller's stdout and stderr. */
#ifndef CTX_CALL_OUTPUT_H
#define CTX_CALL_OUTPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* On its way: where nobody takes it, signals are heard all the same. */
struct output {
  int stream;
  const char *bytes; /* that stay where they are until all are written */
  size_t left;
};

struct pollfd output_wants(const struct output *output);

/* As much as there is room for. False where no one reads any more; errno says why. */
bool output_write(struct output *output);

#endif
