/* A descriptor from one process to another, over a socket. */
#ifndef CTX_HANDOVER_H
#define CTX_HANDOVER_H

#include <errno.h>
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
  if (sendmsg(channel, &message, 0) == (ssize_t)length) return true;
  /* Of all that this user has under way in sockets; Node has no name for it. */
  if (errno == ETOOMANYREFS) errno = EMFILE;
  return false;
}

/* Into `bytes`, and a descriptor where one came, else -1. Returns what recvmsg does. */
static inline ssize_t receive_with_descriptor(int channel, char *bytes, size_t size, int *descriptor) {
  struct iovec part = {.iov_base = bytes, .iov_len = size};
  union descriptor_room room = {.space = {0}};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.space, .msg_controllen = sizeof room.space};
  *descriptor = -1;
  const ssize_t got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  return got;
}

/* With one byte. -1 where the other side ended, or sent none. */
static inline int receive_descriptor(int channel) {
  char byte;
  int descriptor;
  return receive_with_descriptor(channel, &byte, 1, &descriptor) == 1 ? descriptor : -1;
}

#endif
