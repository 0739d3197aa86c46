/* A descriptor from one process to another, over a socket. */
#ifndef CTX_HANDOVER_H
#define CTX_HANDOVER_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

union descriptor_room {
  char space[CMSG_SPACE(sizeof(int))];
  struct cmsghdr align;
};

static inline bool hand_over(int channel, const char *bytes, size_t length, int descriptor) {
  struct iovec part = {.iov_base = (char *)bytes, .iov_len = length};
  union descriptor_room room = {.space = {0}};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.space, .msg_controllen = sizeof room.space};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(channel, &message, 0) == (ssize_t)length;
}

/* With one byte. -1 where the other side ended, or sent none. */
static inline int receive_descriptor(int channel) {
  char byte;
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  union descriptor_room room = {.space = {0}};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.space, .msg_controllen = sizeof room.space};
  int descriptor = -1;
  if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

#endif
