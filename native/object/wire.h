/*
 * What an object's executable and the owner of its view say to each other over the view's socket:
 *
 *   frame    u32 length of what follows (little-endian), u8 kind, payload
 *
 * First the call: NUL-ended strings, the path of the executable and the directory it was started in; then the input to
 * the end. The owner answers with output, with what it wants done to files (caller-files.h), and last with the exit code.
 */
#ifndef CTX_OBJECT_WIRE_H
#define CTX_OBJECT_WIRE_H

#include "frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
  /* to the owner */
  KIND_CALL = 'R',
  KIND_DONE = 'D', /* u32 errno, and what was asked for */
  /* from it */
  KIND_OUTPUT = 'O',
  KIND_ERROR = 'E',
  KIND_FILE = 'F', /* something to be done to a file */
  KIND_EXIT = 'C', /* one byte, the exit code; nothing follows */
};

enum { FRAME_MOST = (1 << 20) + (64 << 10), INPUT_MOST = 1 << 20 };

#endif
