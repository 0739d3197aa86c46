/*
 * A caller of objects that speaks to the view's socket itself, for the attacks that the client of ours would not make:
 *
 *   caller say PATH INPUT      calls PATH whatever this program is; prints the answer, ends with its exit code
 *   caller lie PATH INPUT      the same, and answers what is asked about files with a file of its own invention
 *   caller descriptors N       passes N descriptors on to whoever listens, in one connection each, and says how many were taken
 *   caller crowd N             opens N connections that ask nothing, keeps them, and says how many of them were kept
 *   caller noise               sends what is not a frame, in many ways; ends with 0
 *   caller borrow SOCKET       takes a connection to a view from whoever gives it away at SOCKET, and lists its tools by it
 *   caller lend SOCKET         gives one of its own away there
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char view[] = "/run/ctx/view.sock";
static char payload[(1 << 20) + (64 << 10)];

static struct sockaddr_un address_of(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  return address;
}

static int connected(const char *path) {
  struct sockaddr_un address = address_of(path);
  int opened = socket(AF_UNIX, SOCK_STREAM, 0);
  if (opened < 0 || connect(opened, (struct sockaddr *)&address, sizeof address)) return -1;
  return opened;
}

static int whole(int from, void *into, size_t size) {
  for (size_t had = 0; had < size;) {
    ssize_t got = read(from, (char *)into + had, size - had);
    if (got <= 0) return 0;
    had += (size_t)got;
  }
  return 1;
}

static int send_frame(int to, char kind, const void *bytes, uint32_t size) {
  uint32_t length = size + 1;
  return send(to, &length, 4, MSG_NOSIGNAL) == 4 && send(to, &kind, 1, MSG_NOSIGNAL) == 1 &&
         send(to, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static int call(int owner, const char *path, const char *input, int lies) {
  char directory[4096];
  if (!getcwd(directory, sizeof directory)) return 90;
  char *at = stpcpy(payload, path) + 1;
  at = stpcpy(at, directory) + 1;
  at = stpcpy(at, input);
  if (!send_frame(owner, 'R', payload, (uint32_t)(at - payload))) return 91;
  for (;;) {
    uint32_t length;
    if (!whole(owner, &length, 4) || length < 1 || length > sizeof payload || !whole(owner, payload, length)) return 92;
    if (payload[0] == 'O' || payload[0] == 'E') {
      if (write(payload[0] == 'O' ? 1 : 2, payload + 1, length - 1) < 0) return 93;
    } else if (payload[0] == 'C') {
      return (unsigned char)payload[1];
    } else if (payload[0] == 'F') {
      /* No error; attributes of a file; and a text. */
      char reply[4 + 21 + 6] = {0};
      reply[4] = 8;
      memcpy(reply + 25, "a lie\n", 6);
      if (!send_frame(owner, 'D', reply, lies ? sizeof reply : 4)) return 94;
    }
  }
}

static int pass(int to, int descriptor) {
  char byte = 0, room[CMSG_SPACE(sizeof descriptor)] = {0};
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptor)};
  memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

static int taken(int from) {
  int descriptor = -1;
  char byte, room[CMSG_SPACE(sizeof descriptor)];
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(from, &message, 0) != 1 || !CMSG_FIRSTHDR(&message)) return -1;
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

static int pass_descriptors(int count) {
  int passed = 0;
  for (int each = 0; each < count; each++) {
    int owner = connected(view);
    passed += owner >= 0 && pass(owner, 0);
    close(owner);
  }
  printf("%d\n", passed);
  return 0;
}

static int crowd(int count) {
  struct pollfd kept[4096];
  int opened = 0;
  for (int each = 0; each < count && each < 4096; each++) {
    int owner = connected(view);
    if (owner >= 0) kept[opened++] = (struct pollfd){.fd = owner, .events = POLLIN};
  }
  usleep(500000);
  int left = opened;
  if (poll(kept, (nfds_t)opened, 0) > 0)
    for (int each = 0; each < opened; each++) left -= kept[each].revents != 0;
  printf("%d\n", left);
  return 0;
}

static int noise(void) {
  static const struct {
    const char *bytes;
    size_t size;
  } texts[] = {{"\0\0\0\0", 4},           {"\377\377\377\377R", 5},  {"\1\0\0\0C", 5},
               {"\5\0\0\0Rabcd", 9},      {"\2\0\0\0D\0", 6},        {"GET / HTTP/1.1\r\n\r\n", 18},
               {"\7\0\0\0Rab\0c\0x", 11}, {"\1\0\0\0R\1\0\0\0R", 10}};
  for (size_t each = 0; each < sizeof texts / sizeof *texts; each++) {
    int owner = connected(view);
    if (owner < 0) return 95;
    if (send(owner, texts[each].bytes, texts[each].size, MSG_NOSIGNAL) < 0) return 96;
    shutdown(owner, SHUT_WR);
    while (read(owner, payload, sizeof payload) > 0) continue;
    close(owner);
  }
  return 0;
}

static int lend(const char *path) {
  struct sockaddr_un address = address_of(path);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1)) return 97;
  int taker = accept(listener, NULL, NULL);
  if (!pass(taker, connected(view))) return 98;
  char byte;
  while (read(taker, &byte, 1) > 0) continue; /* until it is used: a view ends with its command */
  return 0;
}

static int borrow(const char *path, const char *object, const char *input) {
  int lender = -1;
  for (int tries = 0; tries < 200 && (lender = connected(path)) < 0; tries++) usleep(50000);
  int owner = lender < 0 ? -1 : taken(lender);
  return owner < 0 ? 99 : call(owner, object, input, 0);
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  const char *first = count > 2 ? words[2] : "", *second = count > 3 ? words[3] : "";
  if (!strcmp(what, "say") || !strcmp(what, "lie")) return call(connected(view), first, second, *what == 'l');
  if (!strcmp(what, "descriptors")) return pass_descriptors(atoi(first));
  if (!strcmp(what, "crowd")) return crowd(atoi(first));
  if (!strcmp(what, "noise")) return noise();
  if (!strcmp(what, "lend")) return lend(first);
  if (!strcmp(what, "borrow")) return borrow(first, second, count > 4 ? words[4] : "{}");
  return 100;
}
