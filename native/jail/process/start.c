#include "process/start.h"
#include "context.h"
#include "descriptor.h"
#include "jail.h"
#include "owner/terminal.h"
#include "process/fork-closed.h"
#include "syscalls.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { SHIFTED_INIT_OFFSET = 1 };

static void open_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) fail("making a pipe");
}

/* Where root made the jail, its init is a stranger both to the host and to the command. */
static void give_init_up(const struct plan *plan) {
  const struct operation *shift = find(plan, OP_SHIFT);
  if (shift) {
    uint32_t stranger = high_half(shift->number) + low_half(shift->number) + SHIFTED_INIT_OFFSET;
    if (setgroups(0, NULL) != 0) fail("leaving the groups");
    become(stranger, stranger);
  } else {
    become(getuid(), getgid());
  }
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail("closing init");
}

/* Which directory "/" is. */
struct root_identity {
  dev_t device;
  ino_t inode;
};

static struct root_identity current_root(void) {
  struct stat about;
  if (stat("/", &about) != 0) fail("/");
  return (struct root_identity){.device = about.st_dev, .inode = about.st_ino};
}

void start_init(struct jail_context *jail) {
  const struct plan *plan = jail->plan;
  int there[2], ready[2], alive[2], answers[2], owner = sys_pidfd_open(getpid());
  if (owner < 0) fail("starting init");
  open_pipe(there);
  open_pipe(ready);
  open_pipe(alive);
  open_pipe(answers);
  pid_t pid = fork();
  if (pid < 0) fail("starting init");
  if (pid == 0) {
    close(alive[1]);
    close(there[1]);
    jail->before_pivot = there[0];
    execute_stage(jail, plan, STAGE_INIT, -1);
    if (find(plan, OP_NAMESPACES)->flags & CLONE_NEWNET) join_network(owner);
    struct root_identity entered = current_root();
    if (write(ready[1], &entered, sizeof entered) != sizeof entered) _exit(EXIT_FAILED);
    give_init_up(plan);
    if (write(ready[1], "", 1) != 1) _exit(EXIT_FAILED);
    if (dup2(alive[0], 0) != 0 || dup2(FD_LIFELINE, 1) != 1 || dup2(answers[1], 2) != 2) _exit(EXIT_FAILED);
    if (sys_close_range(3, ~0U, 0) != 0) _exit(EXIT_FAILED);
    be_init(0, 1, 2);
  }
  close(owner);
  close(there[0]);
  close(ready[1]);
  close(alive[0]);
  close(answers[1]);
  jail->ties = (struct ties){.init = pid,
                             .all_are_there = there[1],
                             .init_is_ready = ready[0],
                             .ask_init = alive[1],
                             .init_answers = answers[0]};
}

/*
 * The root of this process changed under it when init entered the new one; its working directory did not. A process
 * that was just being forked at that time would have kept the host's root: init waits for it, and here it is checked.
 */
static bool enter_when_ready(const struct ties *ties) {
  struct root_identity entered;
  if (read(ties->init_is_ready, &entered, sizeof entered) != sizeof entered) return false;
  struct root_identity own = current_root();
  if (own.device != entered.device || own.inode != entered.inode)
    fail_with(EXDEV, "this process is not in the jail's root");
  if (chdir("/") != 0) fail("entering the new root");
  return true;
}

bool is_anybody_left(const struct ties *ties) {
  char answer = 0;
  return write(ties->ask_init, "", 1) != 1 || read(ties->init_answers, &answer, 1) != 1 || answer != INIT_ALONE;
}

bool wait_for_init(const struct ties *ties) {
  return write(ties->all_are_there, "", 1) == 1 && enter_when_ready(ties) && has_given_up(ties->init_is_ready);
}

/*
 * A process that starts this program leaves every signal at its default; what was changed since then was changed here.
 * What came for the whole job while this process was still of it (Ctrl-C) is not taken: the owner has it too, and
 * passes it on once the command runs. Here it would end what has not begun, and nobody could say of what.
 */
static void restore_signals(void) {
  sigset_t blocked;
  const struct timespec at_once = {0};
  if (sigprocmask(SIG_BLOCK, NULL, &blocked) != 0) fail("reading the blocked signals");
  while (sigtimedwait(&blocked, NULL, &at_once) > 0)
    ;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
}

static void await_root(struct jail_context *jail) {
  jail->awaited_init = jail->ties.init_is_ready;
  if (!enter_when_ready(&jail->ties)) give_up(); /* init has said why */
}

/* Never returns. */
static _Noreturn void become_command(struct jail_context *jail, const struct plan *plan, struct command *command,
                                     int channel) {
  /* A session of its own: the person's terminal is never its controlling one, so nothing can be typed into it. */
  if (setsid() < 0) fail("leaving the session");
  restore_signals();
  umask(jail->mask);
  relays_take(command->relays);
  if (sys_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) fail("closing what the command does not get");
  /*
   * While init is mounting there is time for it, but a terminal is opened by the command's user, in the jail's own
   * /dev.
   */
  const bool root_first = jail->terminal.wanted;
  if (!jail->ready && root_first) await_root(jail);
  if (jail->namespaces.shift >= 0) enter_namespace_of_shift(jail);
  execute_stage(jail, plan, STAGE_IDENTITY, channel);
  if (!jail->ready && !root_first) await_root(jail);
  execute_stage(jail, plan, STAGE_COMMAND, channel);
  fail_with(EINVAL, "the plan has no command");
}

/* In a jail that is ready, one command that does not start ends nothing else. */
static bool refuse_start(const struct jail_context *jail, const char *what) {
  if (!jail->ready && waitpid(jail->ties.init, NULL, WNOHANG) == jail->ties.init)
    return false; /* nothing can start in a namespace whose init has ended, and it has said why */
  report_failure(errno, what);
  return false;
}

enum { LOOK_MILLISECONDS = 20, MOST_MILLISECONDS = 10000 };

static long long milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * An earlier command of the same user can signal this one before it is the program. One that was stopped
 * is let go on; no one's requests wait longer than MOST_MILLISECONDS for one that is stopped again and again. False
 * where it says nothing.
 */
static bool await_word(struct jail_context *jail, pid_t pid, int descriptor, long long end) {
  struct pollfd watched[] = {{.fd = descriptor, .events = POLLIN},
                             {.fd = FD_LIFELINE, .events = POLLIN},
                             {.fd = jail->left_calls, .events = POLLIN}};
  for (long long now = milliseconds_now(), looked = now; now < end; now = milliseconds_now()) {
    int ready = poll(watched, 3, LOOK_MILLISECONDS);
    if (ready > 0 && (watched[0].revents || watched[1].revents)) return watched[0].revents;
    if (ready > 0) take_left_calls(jail); /* what earlier commands left running goes on meanwhile */
    if (ready > 0 && now - looked < LOOK_MILLISECONDS) continue;
    looked = now;
    siginfo_t about = {0};
    if (waitid(P_PID, (id_t)pid, &about, WSTOPPED | WNOHANG) == 0 && about.si_pid == pid) kill(pid, SIGCONT);
  }
  return false;
}

/* Where it sends no listener it has failed, and says so. */
static void listen_to(struct command *command, const struct plan *plan, int channel) {
  int listener = receive_descriptor(channel);
  command->calls = listener < 0 ? NULL : calls_of(listener, plan, &command->refusals, &command->renamed);
  if (listener >= 0 && !command->calls) fail("listening to the command");
}

static bool watch_later_start(struct jail_context *jail, const struct plan *plan, struct command *command, int channel,
                              int executed) {
  const long long end = milliseconds_now() + MOST_MILLISECONDS;
  char byte = 0;
  if (jail->terminal.wanted && await_word(jail, command->pid, channel, end)) terminal_serve(channel, command->relays);
  if (find(plan, OP_SECCOMP) && await_word(jail, command->pid, channel, end)) listen_to(command, plan, channel);
  bool executing =
      await_word(jail, command->pid, executed, end) && read(executed, &byte, 1) == 1 && byte == PROGRESS_EXECUTING;
  if (executing && await_word(jail, command->pid, executed, end) && read(executed, &byte, 1) == 0) return true;
  if (byte != PROGRESS_FAILED) {
    kill(command->pid, SIGKILL);
    report_failure(ECANCELED, "something inside ended or held the command before it began");
  }
  return false;
}

static bool watch_start(struct jail_context *jail, const struct plan *plan, struct command *command, int channel,
                        int executed) {
  char byte;
  if (jail->terminal.wanted) terminal_keep(&jail->terminal, channel, command->pid, command->relays);
  if (find(plan, OP_SECCOMP)) listen_to(command, plan, channel);
  bool executing = read(executed, &byte, 1) == 1 && byte == PROGRESS_EXECUTING;
  return executing && read(executed, &byte, 1) == 0;
}

static uint64_t limit_of(const struct plan *plan, uint32_t resource) {
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->operations[i].code == OP_LIMIT && plan->operations[i].flags == resource)
      return plan->operations[i].number;
  return 0;
}

/* Both channels to a command that is being started; [1] is its own end. */
struct channels {
  int words[2], executed[2];
};

static bool open_channels(struct channels *channels) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels->words) != 0) return false;
  if (pipe2(channels->executed, O_CLOEXEC) == 0) return true;
  int error = errno;
  close(channels->words[0]);
  close(channels->words[1]);
  errno = error;
  return false;
}

static void close_ends(const struct channels *channels, int which) {
  close(channels->words[which]);
  close(channels->executed[which]);
}

/* Whether the program runs; what was opened for it is the caller's to close, whatever happened. */
static bool run_command(struct jail_context *jail, const struct plan *plan, struct command *command) {
  struct channels channels;
  if (!open_channels(&channels)) return refuse_start(jail, "making a channel to the command");
  command->pid = jail->ready ? fork_closed() : fork();
  if (command->pid == 0) {
    close(channels.words[0]);
    tell_progress(channels.executed[1]);
    become_command(jail, plan, command, channels.words[1]);
  }
  close_ends(&channels, 1);
  bool there = command->pid > 0 && (jail->ready || write(jail->ties.all_are_there, "", 1) == 1);
  if (command->pid < 0) refuse_start(jail, "starting the command");
  bool started = there && (jail->ready ? watch_later_start(jail, plan, command, channels.words[0], channels.executed[0])
                                       : watch_start(jail, plan, command, channels.words[0], channels.executed[0]));
  close_ends(&channels, 0);
  if (!started && command->pid > 0) waitpid(command->pid, NULL, 0);
  return started;
}

/* The kernel counts the owner and init with the command's. */
enum { OWN_PROCESSES = 2 };

bool start_command(struct jail_context *jail, const struct plan *plan, struct command *command) {
  bool started = run_command(jail, plan, command);
  relays_keep(command->relays);
  if (!started) {
    calls_free(jail, command->calls);
    command->calls = NULL;
    return false;
  }
  uint64_t most = limit_of(plan, RLIMIT_NPROC);
  command->most_threads = most > OWN_PROCESSES ? most - OWN_PROCESSES : 0;
  command->process = sys_pidfd_open(command->pid);
  if (command->process < 0) fail("watching the command");
  return true;
}
