/* The caller's stdin, for the command of a kept jail. */
#ifndef CTX_CALL_INPUT_H
#define CTX_CALL_INPUT_H

#include "person-terminal.h"
#include "wire.h"

/*
 * What was read and is not wanted yet. A terminal that is raw is read meanwhile: the key that interrupts is among it,
 * and a kept jail that is stopped wants nothing any more.
 */
struct input {
  char bytes[INPUT_MOST];
  size_t size;
  bool wanted, ended;
  int64_t interrupted; /* when that key was typed last */
};

/* Nothing before it is wanted. */
void input_send(struct input *input, int socket);

/* Whether the key that interrupts was typed at `terminal`, null where there is none that is raw. */
bool input_take(struct input *input, const struct person_terminal *terminal);

#endif
