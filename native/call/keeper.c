#include "keeper.h"
#include "carry.h"
#include "keeper-place.h"
#include "keeper-wire.h"
#include "node.h"
#include "stop-here.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/*
 * A keeper answers within a millisecond; one that is stopped or hangs never does, and a machine that is very busy is no
 * quicker with it. After the end of its process it has as long to say how that ended.
 */
enum { READY_MILLISECONDS = 500, STATUS_MILLISECONDS = 2000 };

static int connect_to_keeper(const char *program) {
  char path[PATH_MAX], key[KEY_SIZE];
  if (!keeper_key(program, key) || !store_path(path, "")) return -1;
  int store = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int keepers = store < 0 ? -1 : open_own(store, "keeper", false);
  int place = keepers < 0 ? -1 : open_own(keepers, key, false);
  int socket = place < 0 ? -1 : connect_to(place, "socket", SOCK_SEQPACKET | SOCK_NONBLOCK);
  const int opened[] = {store, keepers, place};
  for (size_t i = 0; i < 3; i++)
    if (opened[i] >= 0) close(opened[i]);
  return socket;
}

/* Beyond `ulimit -f` a write ends this process, also one to a file of memory. */
static bool may_write_request(void) {
  struct rlimit bytes;
  return getrlimit(RLIMIT_FSIZE, &bytes) == 0 && bytes.rlim_cur >= REQUEST_MOST;
}

/*
 * The request is in a file of memory, since a packet has no room for it. It does not change any more: the keeper looks
 * at it, and the process that runs it reads it again.
 */
static int write_request(int socket, int count, char **words) {
  struct stat node;
  char node_path[PATH_MAX];
  char word[WORD_SIZE];
  char traits[TRAITS_SIZE];
  const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  const bool asks = may_write_request() && read_keeper_word(socket, word) && find_node(node_path, &node);
  int file = asks ? memfd_create("request", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
  FILE *out = file < 0 ? NULL : fdopen(dup(file), "w");
  if (!out) return -1;
  own_traits(traits);
  fprintf(out, "%s%c%llu:%llu%c%s %s%c%d%c", KEEPER_WIRE_VERSION, 0, (unsigned long long)node.st_dev,
          (unsigned long long)node.st_ino, 0, traits, word, 0, count, 0);
  for (int i = 0; i < count; i++) fwrite(words[i], strlen(words[i]) + 1, 1, out);
  for (char **variable = environ; *variable; variable++) fwrite(*variable, strlen(*variable) + 1, 1, out);
  return fclose(out) == 0 && fcntl(file, F_ADD_SEALS, seals) == 0 ? file : -1;
}

/* `carrier` is the call's end of its channel to us, -1 where nothing is carried. */
static bool send_request(int socket, int request, int carrier) {
  char kind = PACKET_ASK;
  int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int descriptors[SENT_DESCRIPTORS] = {request, directory, 0, 1, 2, carrier >= 0 ? carrier : request};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof descriptors)];
  } control = {0};
  struct iovec part = {.iov_base = &kind, .iov_len = 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.head =
      (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptors)};
  memcpy(CMSG_DATA(&control.head), descriptors, sizeof descriptors);
  bool sent = directory >= 0 && sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
  if (directory >= 0) close(directory);
  return sent;
}

/* A packet of exactly that size and kind, in time. */
static bool await_packet(int socket, char kind, char *packet, size_t size) {
  struct pollfd watched = {.fd = socket, .events = POLLIN};
  return poll(&watched, 1, READY_MILLISECONDS) == 1 && recv(socket, packet, size, 0) == (ssize_t)size &&
         *packet == kind;
}

/* The process that is to run it, by its descriptor; -1 where none is ready in time. */
static int await_ready(int socket, pid_t *process) {
  char packet[1 + sizeof(int32_t)];
  int32_t number;
  if (!await_packet(socket, PACKET_READY, packet, sizeof packet)) return -1;
  memcpy(&number, packet + 1, sizeof number);
  *process = number;
  return (int)syscall(SYS_pidfd_open, number, 0);
}

struct taken_signals {
  int passed;
  int stops; /* readable while SIGTSTP waits to stop us; never read */
};

/*
 * Every signal that has a meaning is its process's, as it would have been Node's here; but those that tell of a fault
 * of this program, and those by which the kernel keeps a job in the background from the terminal. As Node does, those
 * that stop are at their default.
 */
static struct taken_signals take_signals(void) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGCHLD, SIGTTIN, SIGTTOU};
  static const int stopping[] = {SIGTSTP, SIGTTIN, SIGTTOU};
  sigset_t blocked, passed, stops;
  for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++) signal(stopping[i], SIG_DFL);
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  sigemptyset(&stops);
  sigaddset(&stops, SIGTSTP);
  passed = blocked;
  sigdelset(&passed, SIGTSTP);
  return (struct taken_signals){.passed = signalfd(-1, &passed, SFD_CLOEXEC),
                                .stops = signalfd(-1, &stops, SFD_CLOEXEC)};
}

static void pass_signal(int signals, int handle, pid_t process) {
  struct signalfd_siginfo info;
  if (read(signals, &info, sizeof info) != sizeof info) return;
  int number = (int)info.ssi_signo;
  if (number == SIGWINCH) carry_resize();
  if (number == SIGCONT) carry_continued();
  /*
   * A key at the terminal is for all of the group, whose copy is the process's; and what was stopped by one goes on
   * with it.
   */
  if (info.ssi_code == SI_KERNEL || number == SIGCONT)
    kill(-process, number);
  else
    syscall(SYS_pidfd_send_signal, handle, number, NULL, 0);
}

/* The owner of its jail stops the command. `whole_job`: the key was read by us, and those beside us know nothing. */
static void suspend(pid_t process, bool whole_job) {
  kill(-process, SIGTSTP);
  /* Before anybody has stopped: from then on the terminal is the shell's. */
  carry_restore();
  if (whole_job) kill(0, SIGTSTP);
  stop_here();
  carry_continued();
  kill(-process, SIGCONT);
}

/* As the process ended, so do we. */
static int end_like(int status) {
  carry_finish();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const struct rlimit none = {0};
  sigset_t set;
  sigemptyset(&set);
  setrlimit(RLIMIT_CORE, &none); /* it has left one, where that is wanted */
  signal(WTERMSIG(status), SIG_DFL);
  sigprocmask(SIG_SETMASK, &set, NULL);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

static int end_of_keeper(void) {
  carry_finish();
  fprintf(stderr, "ctx: the keeper ended, and with it what it ran for this call\n"
                  "  try: run it again; CTX_KEEPER=off runs it without a keeper\n");
  return 70;
}

static int follow(int socket, int handle, pid_t process, struct taken_signals signals) {
  enum { PACKETS, PROCESS, SIGNALS, STOPS, CARRIED, WATCHED = CARRIED + CARRY_WATCHED };
  struct pollfd watched[WATCHED] = {[PACKETS] = {.fd = socket, .events = POLLIN},
                                    [PROCESS] = {.fd = handle, .events = POLLIN},
                                    [SIGNALS] = {.fd = signals.passed, .events = POLLIN},
                                    [STOPS] = {.fd = signals.stops, .events = POLLIN}};
  int code = -1;
  for (;;) {
    const bool ended = watched[PROCESS].fd < 0;
    if (ended && code >= 0) return code; /* not before: what it held is free now */
    const int most = carry_list(&watched[CARRIED]);
    const int many = poll(watched, WATCHED, ended ? STATUS_MILLISECONDS : most);
    if (many == 0 && ended) return end_of_keeper();
    if (many < 0 && errno != EINTR) return 70;
    if (many <= 0) continue;
    if (watched[SIGNALS].revents) pass_signal(signals.passed, handle, process);
    if (carry_serve(&watched[CARRIED]))
      suspend(process, true);
    else if (watched[STOPS].revents)
      suspend(process, false);
    if (watched[PACKETS].revents) {
      char packet[1 + sizeof(int32_t)];
      int32_t status;
      const ssize_t size = recv(socket, packet, sizeof packet, MSG_DONTWAIT);
      if (size == 2 && *packet == PACKET_DONE) {
        return (unsigned char)packet[1];
      } else if (size == 2 && *packet == PACKET_ENDED) {
        code = (unsigned char)packet[1];
      } else if (size == sizeof packet && *packet == PACKET_STATUS) {
        memcpy(&status, packet + 1, sizeof status);
        return end_like(status);
      } else if (size >= 0 || errno != EAGAIN) {
        watched[PACKETS].fd = -1;
        if (code < 0) return end_of_keeper();
      }
    }
    if (watched[PROCESS].revents) watched[PROCESS].fd = -1;
  }
}

static enum keeper converse(int socket, int request, int carrier, int *exit_code) {
  const char go = PACKET_GO;
  char hello;
  pid_t process = 0;
  int handle = request >= 0 && await_packet(socket, PACKET_HELLO, &hello, 1) && send_request(socket, request, carrier)
                   ? await_ready(socket, &process)
                   : -1;
  if (request >= 0) close(request);
  if (carrier >= 0) close(carrier);
  if (handle < 0) return KEEPER_REFUSED;
  struct taken_signals signals = take_signals();
  if (signals.passed < 0 || signals.stops < 0 || send(socket, &go, 1, MSG_NOSIGNAL) != 1) return KEEPER_REFUSED;
  *exit_code = follow(socket, handle, process, signals);
  carry_finish();
  return KEEPER_ANSWERED;
}

enum keeper ask_keeper(int count, char **words, int *exit_code) {
  bool carries;
  int socket = connect_to_keeper(words[0]);
  if (socket < 0) return KEEPER_ABSENT;
  int carrier = -1;
  bool suits = carry_suits(count > 1 ? words[1] : "", &carries) && (!carries || (carrier = carry_begin()) >= 0);
  enum keeper answer = suits ? converse(socket, write_request(socket, count, words), carrier, exit_code) : KEEPER_REFUSED;
  close(socket);
  return answer;
}
