#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static bool send_whole(int socket, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

bool send_frame(int socket, enum kind kind, const void *payload, size_t size) {
  uint32_t length = (uint32_t)size + 1;
  char head[5] = {(char)length, (char)(length >> 8), (char)(length >> 16), (char)(length >> 24), (char)kind};
  return send_whole(socket, head, sizeof head) && send_whole(socket, payload, size);
}

static bool receive_whole(int socket, char *into, size_t size) {
  while (size > 0) {
    ssize_t got = read(socket, into, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    size -= (size_t)got;
  }
  return true;
}

bool receive_frame(int socket, struct frame *frame) {
  unsigned char head[5];
  if (!frame->payload) frame->payload = malloc(FRAME_MOST);
  if (!frame->payload || !receive_whole(socket, (char *)head, sizeof head)) return false;
  uint32_t length = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
  if (length < 1 || length > FRAME_MOST) return false;
  frame->kind = (enum kind)head[4];
  frame->size = length - 1;
  return receive_whole(socket, frame->payload, frame->size);
}
