/* Descriptors from one process to another. */
#include "descriptor.h"
#include "jail.h"

#include <string.h>
#include <sys/socket.h>

union control {
  char space[CMSG_SPACE(sizeof(int))];
  struct cmsghdr align;
};

void send_message_with_descriptor(int channel, const char *bytes, size_t length, int descriptor) {
  struct iovec part = {.iov_base = (char *)bytes, .iov_len = length};
  union control control = {.space = {0}};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(channel, &message, 0) != (ssize_t)length) fail("handing a descriptor over");
}

void send_descriptor(int channel, int descriptor) {
  send_message_with_descriptor(channel, "", 1, descriptor);
}

int receive_descriptor(int channel) {
  char byte;
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  union control control = {.space = {0}};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  int descriptor = -1;
  if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}
