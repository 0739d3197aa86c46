/*
 * What a client says to the process that keeps a jail, and hears from it, over its socket:
 *
 *   frame    u32 length of what follows (little-endian), u8 kind, payload
 *
 * The first frame is the request: NUL-ended strings, in this order: the directory; "ROWS COLUMNS" where stdin and
 * stdout are terminals, else ""; the numbers of the standard streams that are terminals, as "02"; the build
 * (`describe_build`); how many words; the words; then the environment to the end.
 */
#ifndef CTX_CALL_WIRE_H
#define CTX_CALL_WIRE_H

#include "frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
  /* to the kept jail */
  KIND_REQUEST = 'R',
  KIND_INPUT = 'I',  /* bytes for the command's stdin; none of them at its end */
  KIND_SIGNAL = 'S', /* one byte, its number */
  KIND_SIZE = 'W',   /* u16 rows, u16 columns */
  KIND_ANSWER = 'A', /* the line that was typed */
  /* from it */
  KIND_OUTPUT = 'O',
  KIND_ERROR = 'E',
  KIND_EXIT = 'C',     /* one byte, the exit code; nothing follows */
  KIND_REFUSED = 'N',  /* this kept jail does not do that here; nothing follows. What it says is the person's to read */
  KIND_MORE = 'M',     /* send more input: nothing is read before it is wanted */
  KIND_QUESTION = 'Q', /* to be asked at the terminal, until an answer is typed or anything else is said */
};

enum { FRAME_MOST = 1 << 20, INPUT_MOST = 32 << 10 };

#endif
