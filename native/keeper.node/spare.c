#include "spare.h"
#include "process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GIVEN_DESCRIPTORS = SENT_DESCRIPTORS + 1 };

static struct {
  pid_t process;
  int channel;
} spare = {.channel = -1};

union control {
  struct cmsghdr head;
  char room[CMSG_SPACE(sizeof(int) * GIVEN_DESCRIPTORS)];
};

static void forget(void) {
  close(spare.channel);
  spare.channel = -1;
  spare.process = 0;
}

pid_t spare_make(void *loop, struct asking *asking) {
  int ends[2];
  if (spare.process > 0) return spare.process;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  const pid_t process = process_copy(loop);
  if (process == 0) {
    calls_forget();
    close(ends[0]);
    /* What it is to run comes to it as descriptors of its own. */
    for (int i = 0; i < SENT_DESCRIPTORS && asking->connection >= 0; i++) close(asking->descriptors[i]);
    if (asking->connection >= 0) close(asking->connection);
    asking->connection = -1;
    spare.channel = ends[1];
    process_prepare(loop);
    return 0;
  }
  const int error = errno;
  close(ends[1]);
  spare.channel = ends[0];
  spare.process = process;
  if (process > 0) return process;
  forget();
  return -error;
}

void spare_drop(void) {
  if (spare.process <= 0) return;
  kill(spare.process, SIGKILL);
  waitpid(spare.process, NULL, 0);
  forget();
}

int spare_give(struct asking *asking) {
  int descriptors[GIVEN_DESCRIPTORS] = {asking->connection};
  const int32_t peer = asking->peer;
  union control control = {0};
  struct iovec part = {.iov_base = (void *)&peer, .iov_len = sizeof peer};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (spare.process <= 0) return -ESRCH;
  memcpy(&descriptors[1], asking->descriptors, sizeof asking->descriptors);
  control.head =
      (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptors)};
  memcpy(CMSG_DATA(&control.head), descriptors, sizeof descriptors);
  if (sendmsg(spare.channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof peer) {
    const int error = errno;
    spare_drop();
    return -error;
  }
  calls_settle(asking, spare.process);
  forget();
  return 0;
}

void spare_wait(struct asking *asking) {
  int32_t peer;
  union control control;
  struct iovec part = {.iov_base = &peer, .iov_len = sizeof peer};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size;
  do size = recvmsg(spare.channel, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  const struct cmsghdr *head = size == sizeof peer ? CMSG_FIRSTHDR(&message) : NULL;
  if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int) * GIVEN_DESCRIPTORS)) _exit(0);
  memcpy(&asking->connection, CMSG_DATA(head), sizeof(int));
  memcpy(asking->descriptors, CMSG_DATA(head) + sizeof(int), sizeof asking->descriptors);
  asking->peer = peer;
  close(spare.channel);
}
