/*
 * Frames over a socket: u32, little-endian, how long the rest is; one byte, its kind; the payload. What kinds there
 * are, and how long a frame may be, is said by the wire.h of each program.
 */
#ifndef CTX_FRAME_H
#define CTX_FRAME_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct frame {
  int kind;
  size_t size;
  char *payload; /* as much room as a frame may have, kept from frame to frame */
};

static inline bool send_whole(int socket, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

static inline bool send_frame(int socket, int kind, const void *payload, size_t size) {
  uint32_t length = (uint32_t)size + 1;
  char head[5] = {(char)length, (char)(length >> 8), (char)(length >> 16), (char)(length >> 24), (char)kind};
  return send_whole(socket, head, sizeof head) && send_whole(socket, payload, size);
}

static inline bool receive_whole(int socket, char *into, size_t size) {
  while (size > 0) {
    ssize_t got = read(socket, into, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    size -= (size_t)got;
  }
  return true;
}

/* False at the end, or where what comes is not a frame of at most `most` bytes. */
static inline bool receive_frame(int socket, struct frame *frame, size_t most) {
  unsigned char head[5];
  if (!frame->payload) frame->payload = malloc(most);
  if (!frame->payload || !receive_whole(socket, (char *)head, sizeof head)) return false;
  uint32_t length = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
  if (length < 1 || length > most) return false;
  frame->kind = head[4];
  frame->size = length - 1;
  return receive_whole(socket, frame->payload, frame->size);
}

#endif
