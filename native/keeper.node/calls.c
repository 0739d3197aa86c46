#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * More than a busy machine runs at once; the process that comes then starts Node. A caller that says nothing for a
 * second is let go.
 */
enum { MOST_CALLS = 128, BACKLOG = 64, SILENT_MILLISECONDS = 1000, LOOK_MILLISECONDS = 100 };

struct one {
  int connection;
  int handle; /* of its process; -1 before it asked */
  pid_t process;
  int64_t since;
  bool is_left; /* by its caller: its process has been killed */
  pid_t caller;
  bool is_stopped;
};

static struct one calls[MOST_CALLS];
static int count;
static int listening = -1, stopping = -1;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* May run in any thread. */
static void stop(int number) {
  (void)number;
  const int before = errno;
  const uint64_t one = 1;
  ssize_t written = write(stopping, &one, sizeof one);
  (void)written;
  errno = before;
}

/*
 * A handler, and not SIG_IGN, which programs would inherit. Node's own opens a debugger that every user of the machine
 * reaches; its thread waits for the one post that this does not make.
 */
static void no_debugger(int number) { (void)number; }

int calls_listen(int directory, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct sigaction ending = {.sa_handler = stop, .sa_flags = SA_RESTART};
  struct sigaction nothing = {.sa_handler = no_debugger, .sa_flags = SA_RESTART};
  /* Through the descriptor: the path of a socket may be longer than an address has room for. */
  if (snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name) >=
      (int)sizeof address.sun_path)
    return ENAMETOOLONG;
  listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  stopping = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listening < 0 || stopping < 0 || sigaction(SIGTERM, &ending, NULL) != 0 ||
      sigaction(SIGUSR1, &nothing, NULL) != 0)
    return errno;
  if (unlinkat(directory, name, 0) != 0 && errno != ENOENT) return errno;
  if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 || listen(listening, BACKLOG) != 0)
    return errno;
  return 0;
}

void calls_close(void) {
  if (listening >= 0) close(listening);
  listening = -1;
}

int calls_running(void) {
  return count;
}

int calls_followed(void) {
  int many = 0;
  for (int i = 0; i < count; i++) many += !calls[i].is_left;
  return many;
}

static void let_go(int place) {
  close(calls[place].connection);
  if (calls[place].handle >= 0) close(calls[place].handle);
  calls[place] = calls[--count];
}

static void say(int connection, char kind, int32_t number) {
  char packet[1 + sizeof number];
  packet[0] = kind;
  memcpy(packet + 1, &number, sizeof number);
  send(connection, packet, kind == PACKET_COLD ? 1 : sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The kernel says who asks, which is the user of this process: everybody else gets no answer. */
static pid_t peer_of(int connection) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid() ||
      peer.gid != getegid())
    return -1;
  return peer.pid;
}

static void accept_one(void) {
  const char hello = PACKET_HELLO;
  int connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return;
  if (count == MOST_CALLS || peer_of(connection) <= 0) {
    close(connection);
    return;
  }
  send(connection, &hello, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  calls[count++] = (struct one){.connection = connection, .handle = -1, .since = now()};
}

static void close_all(const int *descriptors, size_t many) {
  for (size_t i = 0; i < many; i++) close(descriptors[i]);
}

/* False where what came is not a request. All descriptors are there, or none is kept. */
static bool receive(int connection, int descriptors[SENT_DESCRIPTORS]) {
  char kind[2];
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int) * 2 * SENT_DESCRIPTORS)];
  } control;
  struct iovec part = {.iov_base = kind, .iov_len = sizeof kind};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  size_t got = 0;
  for (struct cmsghdr *head = size < 0 ? NULL : CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t here = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int found[2 * SENT_DESCRIPTORS];
    memcpy(found, CMSG_DATA(head), here * sizeof(int));
    const bool fits = got == 0 && here == SENT_DESCRIPTORS;
    if (fits)
      memcpy(descriptors, found, sizeof(int) * SENT_DESCRIPTORS);
    else
      close_all(found, here);
    if (fits) got = here;
  }
  if (size == 1 && kind[0] == PACKET_ASK && got == SENT_DESCRIPTORS && !(message.msg_flags & MSG_CTRUNC)) return true;
  close_all(descriptors, got);
  return false;
}

static bool take_request(int place, struct asking *asking) {
  struct one *one = &calls[place];
  asking->connection = one->connection;
  asking->peer = peer_of(one->connection);
  if (!receive(one->connection, asking->descriptors)) {
    let_go(place);
    return false;
  }
  calls[place] = calls[--count]; /* it is the asking one now */
  return true;
}

static void reap(int place) {
  int status = 0;
  if (waitpid(calls[place].process, &status, 0) == calls[place].process)
    say(calls[place].connection, PACKET_STATUS, status);
  let_go(place);
}

/* From the last to the first, since letting one go moves the last to its place. */
static bool see_to(const struct pollfd *watched, struct asking *asking) {
  for (int place = count - 1; place >= 0; place--) {
    const struct pollfd *connection = &watched[2 * place], *process = &watched[2 * place + 1];
    if (calls[place].handle >= 0) {
      if (process->revents)
        reap(place);
      else if (connection->revents) {
        calls[place].is_left = true;
        syscall(SYS_pidfd_send_signal, calls[place].handle, SIGKILL, NULL, 0);
      }
    } else if (connection->revents) {
      if (take_request(place, asking)) return true;
    } else if (now() - calls[place].since > SILENT_MILLISECONDS) {
      let_go(place);
    }
  }
  return false;
}

static bool is_stopped(pid_t process) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : read(file, line, sizeof line - 1);
  if (file >= 0) close(file);
  if (size <= 0) return false;
  line[size] = 0;
  const char *behind = strrchr(line, ')');
  return behind && (behind[2] == 'T' || behind[2] == 't');
}

/* SIGSTOP cannot be passed on by a caller that it stops: its process is stopped, and goes on, as it does. */
static void stop_with_callers(void) {
  for (int i = 0; i < count; i++) {
    if (calls[i].handle < 0 || calls[i].is_left || is_stopped(calls[i].caller) == calls[i].is_stopped) continue;
    calls[i].is_stopped = !calls[i].is_stopped;
    syscall(SYS_pidfd_send_signal, calls[i].handle, calls[i].is_stopped ? SIGSTOP : SIGCONT, NULL, 0);
  }
}

enum next calls_next(int milliseconds, struct asking *asking) {
  const int64_t until = now() + milliseconds;
  for (;;) {
    struct pollfd watched[2 * MOST_CALLS + 2];
    for (int i = 0; i < count; i++) {
      const bool runs = calls[i].handle >= 0;
      watched[2 * i] =
          (struct pollfd){.fd = calls[i].is_left ? -1 : calls[i].connection, .events = runs ? POLLRDHUP : POLLIN};
      watched[2 * i + 1] = (struct pollfd){.fd = calls[i].handle, .events = POLLIN};
    }
    const int places = 2 * count;
    watched[places] = (struct pollfd){.fd = listening, .events = POLLIN};
    watched[places + 1] = (struct pollfd){.fd = stopping, .events = POLLIN};
    const int64_t left = until - now();
    if (left <= 0) return NEXT_NOTHING;
    const int patience = count > 0 && left > LOOK_MILLISECONDS ? LOOK_MILLISECONDS : (int)left;
    if (poll(watched, (nfds_t)places + 2, patience) < 0) {
      if (errno == EINTR) continue;
      return NEXT_STOP;
    }
    stop_with_callers();
    const int before = calls_followed();
    if (see_to(watched, asking)) return NEXT_REQUEST;
    if (before > 0 && calls_followed() == 0) return NEXT_NOTHING;
    if (watched[places].revents) accept_one();
    uint64_t stops;
    if (watched[places + 1].revents && read(stopping, &stops, sizeof stops) > 0) return NEXT_STOP;
  }
}

void calls_settle(struct asking *asking, pid_t process) {
  const int handle = process > 0 ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
  close_all(asking->descriptors, SENT_DESCRIPTORS);
  if (handle < 0) {
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, NULL, 0);
    }
    say(asking->connection, PACKET_COLD, 0);
    close(asking->connection);
    return;
  }
  /* There is room: it was one of them until it asked. */
  calls[count++] = (struct one){
      .connection = asking->connection, .handle = handle, .process = process, .since = now(), .caller = asking->peer};
}

void calls_forget(void) {
  signal(SIGTERM, SIG_DFL);
  calls_close();
  close(stopping);
  while (count > 0) let_go(count - 1);
}
