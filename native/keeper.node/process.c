#include "process.h"
#include "handover.h"
#include "pages.h"
#include "terminal-wire.h"
#include "waiters.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Of libuv, whose interface is stable within Node's versions; its headers are not always installed. */
enum { UV_PREPARE = 9, UV_WORK = 7 };
extern int uv_loop_fork(void *loop);
extern int uv_loop_alive(const void *loop);
extern size_t uv_handle_size(int type);
extern int uv_prepare_init(void *loop, void *handle);
extern int uv_prepare_start(void *handle, void (*look)(void *handle));
extern size_t uv_req_size(int type);
extern int uv_queue_work(void *loop, void *request, void (*work)(void *), void (*after)(void *, int));
extern void uv_ref(void *handle);
extern void uv_unref(void *handle);
extern char **environ;

/* Within this the caller says GO: it waits for nothing else. */
enum { GO_SECONDS = 5, STREAMS = 3 };

static int caller = -1, carrier = -1;
static int flags[STREAMS];

/*
 * V8 asks the kernel to leave its heap out of copies of the process (MADV_DONTFORK), so that programs start quickly.
 * This copy is to have it. What the kernel does not let change is its own.
 */
static void share_memory(void) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = NULL;
  size_t room = 0;
  while (maps && getline(&line, &room, maps) > 0) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx", &from, &to) == 2) madvise((void *)from, to - from, MADV_DOFORK);
  }
  free(line);
  if (maps) fclose(maps);
}

pid_t process_copy(void *loop) {
  const pid_t keeper = getpid();
  share_memory();
  if (!waiters_find()) {
    errno = EAGAIN;
    return -1;
  }
  const pid_t process = fork();
  if (process != 0) return process;
  waiters_forget();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper || uv_loop_fork(loop) != 0) _exit(0);
  return 0;
}

static void no_work(void *request) {
  (void)request;
}

static void forget_work(void *request, int status) {
  (void)status;
  free(request);
}

void process_prepare(void *loop) {
  /* The pool starts its threads with the first thing that it is asked to do. */
  void *request = calloc(1, uv_req_size(UV_WORK));
  if (request && uv_queue_work(loop, request, no_work, forget_work) != 0) free(request);
  pages_prepare();
}

/* A copy of them, which is never freed: Node's own memory may move, or go. */
static void take_environment(const char *given, size_t size) {
  size_t many = 0;
  for (size_t i = 0; i < size; i++) many += given[i] == 0;
  char **variables = calloc(many + 1, sizeof *variables), *strings = malloc(size + 1);
  if (!variables || !strings) _exit(0);
  memcpy(strings, given, size);
  for (size_t i = 0; i < many; i++, strings += strlen(strings) + 1) variables[i] = strings;
  environ = variables;
}

static void agree(void) {
  const int32_t process = getpid();
  const struct timeval patience = {.tv_sec = GO_SECONDS};
  char packet[1 + sizeof process] = {PACKET_READY}, answer = 0;
  memcpy(packet + 1, &process, sizeof process);
  fcntl(caller, F_SETFL, 0);
  setsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (send(caller, packet, sizeof packet, MSG_NOSIGNAL) == sizeof packet && recv(caller, &answer, 1, 0) == 1 &&
      answer == PACKET_GO)
    return;
  /* One that says it just now is not to hear that its call has ended well. */
  shutdown(caller, SHUT_RDWR);
  _exit(0);
}

void process_become(struct asking *asking, const char *environment, size_t size) {
  caller = asking->connection;
  /* A group of its own: what is meant for one call is not for another. */
  if (setpgid(0, 0) != 0 || fchdir(asking->descriptors[SENT_DIRECTORY]) != 0) _exit(0);
  for (int i = 0; i < STREAMS; i++) {
    if (dup2(asking->descriptors[SENT_INPUT + i], i) != i) _exit(0);
    flags[i] = fcntl(i, F_GETFL);
  }
  const int terminal = asking->descriptors[SENT_TERMINAL];
  if (is_socket(terminal) && (carrier = fcntl(terminal, F_DUPFD_CLOEXEC, STREAMS)) < 0) _exit(0);
  for (int i = 0; i < SENT_DESCRIPTORS; i++) close(asking->descriptors[i]);
  take_environment(environment, size);
  agree();
}

bool is_socket(int descriptor) {
  struct stat about;
  return fstat(descriptor, &about) == 0 && S_ISSOCK(about.st_mode);
}

int process_terminal(void) {
  const int again = carrier < 0 ? -1 : fcntl(carrier, F_DUPFD_CLOEXEC, STREAMS);
  return again >= 0 ? again : carrier < 0 ? -ENOTTY : -errno;
}

int process_typed(void) {
  const char kind = TERMINAL_TYPED;
  char answer;
  int ends[2];
  if (carrier < 0) return -ENOTTY;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  const bool asked = hand_over(carrier, &kind, 1, ends[1]);
  const int error = errno;
  close(ends[1]);
  while (asked && recv(carrier, &answer, 1, 0) < 0 && errno == EINTR)
    ;
  if (asked) return ends[0];
  close(ends[0]);
  return -error;
}

/* As Node does: a pipe that was made not to wait is shared with others. */
static void restore_streams(void) {
  for (int i = 0; i < STREAMS && caller >= 0; i++)
    if (flags[i] >= 0 && fcntl(i, F_GETFL) != flags[i]) fcntl(i, F_SETFL, flags[i]);
}

static _Noreturn void end_by(char kind, int code) {
  const char packet[2] = {kind, (char)code};
  if (caller >= 0) send(caller, packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL);
  _exit(code);
}

void process_end(int code) {
  restore_streams();
  end_by(PACKET_ENDED, code);
}

/*
 * Where nothing is under way any more the caller need not wait for the kernel to take this memory apart, a millisecond
 * and more: all that could be in someone's way is given back here, directory, descriptors and the locks on them.
 */
static _Noreturn void end_at_once(int code) {
  restore_streams();
  if (caller < 0 || chdir("/") != 0 || (caller > 0 && syscall(SYS_close_range, 0, caller - 1, 0) != 0) ||
      syscall(SYS_close_range, caller + 1, ~0U, 0) != 0)
    end_by(PACKET_ENDED, code);
  end_by(PACKET_DONE, code);
}

static void *idle_loop;
static int idle_code;

/* Comes before each wait of the loop. It keeps the loop alive itself, so it is left out of the question. */
static void look_for_end(void *handle) {
  uv_unref(handle);
  if (!uv_loop_alive(idle_loop)) end_at_once(idle_code);
  uv_ref(handle);
}

void process_end_when_idle(void *loop, int code) {
  void *handle = calloc(1, uv_handle_size(UV_PREPARE));
  idle_loop = loop;
  idle_code = code;
  if (!handle || uv_prepare_init(loop, handle) != 0 || uv_prepare_start(handle, look_for_end) != 0) process_end(code);
}
