#include "owner/watch.h"
#include "calls/renames.h"
#include "context.h"
#include "jail.h"
#include "owner/crowd.h"
#include "owner/held.h"
#include "owner/serve.h"
#include "owner/terminal.h"
#include "owner/traced.h"
#include "stop-here.h"
#include "syscalls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

static sigset_t forwarded(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&set, numbers[i]);
  return set;
}

/* And hears all others, which are blocked where `native/start.node` has started this. */
void hold_signals(void) {
  sigset_t held = forwarded();
  sigaddset(&held, SIGTSTP);
  sigprocmask(SIG_SETMASK, &held, NULL);
}

int forwarded_signals(void) {
  const sigset_t set = forwarded();
  return signalfd(-1, &set, SFD_CLOEXEC);
}

int stop_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTSTP);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The command is stopped by us, whether it has a terminal of its own or not. */
static void suspend(struct terminal *terminal, pid_t command, bool whole_job) {
  kill(-command, SIGSTOP);
  /* Before anybody has stopped: from then on the terminal is the shell's. */
  terminal_restore(terminal);
  /* Those that started us, and what is beside us in a pipeline. */
  if (whole_job) kill(0, SIGTSTP);
  stop_here();
  person_terminal_look(&terminal->person);
  kill(-command, SIGCONT);
}

/* Ctrl-C and the like are passed on. */
static void forward(struct terminal *terminal, int number, pid_t command) {
  if (number == SIGCONT) person_terminal_continued(&terminal->person);
  if (number == SIGWINCH) {
    terminal_resize(terminal);
  } else {
    kill(-command, number);
  }
}

/*
 * In a kept jail the process that asks for a command also says which signal it gets. What is sent to us, who are this
 * jail's alone, means the jail. True where it has to end.
 */
static bool take_signal(struct jail_context *jail) {
  struct signalfd_siginfo info;
  if (read(jail->signals, &info, sizeof info) != sizeof info) return false;
  const int number = (int)info.ssi_signo;
  if (jail->kept) return number == SIGTERM || number == SIGINT || number == SIGHUP;
  forward(&jail->terminal, number, jail->commands[0]->pid);
  return false;
}

struct ending collect(const struct command *command) {
  struct ending ending;
  if (wait4(command->pid, &ending.status, 0, &ending.used) != command->pid) fail("collecting the command");
  return ending;
}

/*
 * Between two looks some end: a bomb that is held is never seen full, and what is missing of it is one part in so many.
 * A few are seen as they are: four of five are not five.
 */
enum { CROWD_SLACK = 4, SMALL_CROWD = 16 };

static bool was_crowded(const struct command *command) {
  uint64_t most = command->most_threads, slack = most < SMALL_CROWD ? 0 : most / CROWD_SLACK;
  return most > 0 && command->crowd + slack >= most;
}

static long long microseconds(struct timeval time) {
  return (long long)time.tv_sec * 1000000 + time.tv_usec;
}

void report_end(const struct command *command, const struct ending *ending) {
  const struct rusage *used = &ending->used;
  report_about(command->id);
  report_refused_calls(&command->refusals);
  if (was_crowded(command)) report("crowded %u %llu", command->crowd, (unsigned long long)command->most_threads);
  for (int i = 1; i < RELAYS; i++)
    if (command->relays[i].error != 0) report("unwritten %d %d", i, command->relays[i].error);
  const struct renamed *renamed = &command->renamed;
  if (renamed->sum.directories > 0)
    report("renamed %u %llu %llu %lld", renamed->sum.directories, (unsigned long long)renamed->sum.files,
           (unsigned long long)renamed->sum.bytes, renamed->milliseconds);
  report("exited %d %lld %lld %ld", ending->status, microseconds(used->ru_utime), microseconds(used->ru_stime),
         used->ru_maxrss);
  report_about(0);
}

static void forget(struct jail_context *jail, uint32_t index) {
  struct command *command = jail->commands[index];
  close(command->process);
  if (command->calls) calls_leave(jail, command->calls);
  relays_close(command->relays);
  free(command->relays);
  free(command);
  jail->commands[index] = jail->commands[--jail->count];
}

/* What is watched of a command; its streams come last, so that `of[FIRST_STREAM + i]` is stream i. */
enum { WATCH_PROCESS, WATCH_CALLS, FIRST_STREAM, WATCHED_OF_COMMAND = FIRST_STREAM + RELAYS };
enum {
  WATCH_LIFELINE,
  WATCH_SIGNALS,
  WATCH_STOPS,
  WATCH_REQUESTS,
  WATCH_ANSWERS,
  WATCH_RENAMES,
  WATCH_LEFT,
  WATCH_INIT,
  FIRST_COMMAND
};

static void list_command(const struct command *command, bool is_behind, struct pollfd *of) {
  /* One that has ended is readable for good. */
  of[WATCH_PROCESS] = (struct pollfd){.fd = command->ended ? -1 : command->process, .events = POLLIN};
  of[WATCH_CALLS] = (struct pollfd){.fd = command->calls ? command->calls->listener : -1, .events = POLLIN};
  of[FIRST_STREAM] = person_terminal_wants(&command->relays[0], is_behind);
  for (int i = 1; i < RELAYS; i++) of[FIRST_STREAM + i] = relay_wants(&command->relays[i]);
}

/* True where it has ended. */
static bool serve_command(struct jail_context *jail, struct command *command, const struct pollfd *of) {
  if (of[WATCH_CALLS].revents & POLLIN) {
    take_call(jail, command->calls);
  } else if (of[WATCH_CALLS].revents) {
    calls_free(jail, command->calls);
    command->calls = NULL;
  }
  for (int i = 0; i < RELAYS; i++)
    if (of[FIRST_STREAM + i].revents) {
      if (i == 0)
        person_terminal_move(&jail->terminal.person, command->relays);
      else
        relay_move(command->relays, i);
      if (i == 0 && person_terminal_stops(&jail->terminal.person, &command->relays[0], command->pid))
        suspend(&jail->terminal, command->pid, true);
    }
  return of[WATCH_PROCESS].revents;
}

static long long milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A debugger takes the status of what it has started, and passes it on: it is given time for that. */
enum { TRACER_MS = 2000, ENDED_LOOK_MS = 20 };

/*
 * Whether its status can be taken, nothing in the fork is still being moved for a program that is gone, and a reader of
 * its terminal has what it wrote last: one that is slow keeps no other command waiting meanwhile.
 */
static bool has_ended_for_us(struct jail_context *jail, struct command *command) {
  bool collectable = is_collectable(command->pid);
  if (collectable && !renames_outlive_caller(jail) && relays_flush(command->relays, &command->flushed)) return true;
  long long now = milliseconds_now();
  if (!command->ended) command->ended = now;
  if (!collectable && now - command->ended > TRACER_MS) end_tracer(&jail->host, command->pid);
  return false;
}

static void look_at_crowd(struct jail_context *jail) {
  for (uint32_t i = 0; i < jail->count; i++) let_go_if_traced(jail->commands[i]->pid);

  struct crowd_watch *crowd = &jail->crowd;
  long long begun = milliseconds_now();
  uint32_t threads = count_threads();
  long long took = milliseconds_now() - begun;
  long long wanted = threads > crowd->before ? CROWD_LOOK_LEAST_MS + took * CROWD_LOOK_SHARE : crowd->patience * 2;
  crowd->patience = wanted < CROWD_LOOK_MOST_MS ? (int)wanted : CROWD_LOOK_MOST_MS;
  crowd->before = threads;
  for (uint32_t i = 0; i < jail->count; i++)
    if (threads > jail->commands[i]->crowd) jail->commands[i]->crowd = threads;
}

/* So few are reached at once, and counted at once. */
enum { FEW_THREADS = 256 };

/* One that was looked at before, or may have been short of processes: what else ends at once is not worth a look. */
static bool one_ended(struct jail_context *jail, const struct pollfd *of) {
  for (uint32_t i = 0; i < jail->count; i++) {
    const struct command *command = jail->commands[i];
    bool worth = command->crowd > 0 || (command->most_threads > 0 && command->most_threads <= FEW_THREADS);
    if (worth && of[i * WATCHED_OF_COMMAND + WATCH_PROCESS].revents) return true;
  }
  return false;
}

/* Now and then, and once more at the end: a crowd that fills up keeps its own command from going on. */
static void look_in_time(struct jail_context *jail, const struct pollfd *of) {
  long long now = milliseconds_now();
  if (jail->crowd.looked == 0) jail->crowd.looked = now;
  if (now - jail->crowd.looked < jail->crowd.patience && !one_ended(jail, of)) return;
  jail->crowd.looked = now;
  look_at_crowd(jail);
}

static int patience(struct jail_context *jail, bool is_behind) {
  if (jail->count == 0) return -1;
  for (uint32_t i = 0; i < jail->count; i++)
    if (jail->commands[i]->ended) return ENDED_LOOK_MS;
  int held = held_patience(&jail->held);
  int wanted = held >= 0 ? held : jail->crowd.patience;
  return is_behind && (wanted < 0 || wanted > PERSON_LOOK_MILLISECONDS) ? PERSON_LOOK_MILLISECONDS : wanted;
}

enum { MOST_WATCHED = FIRST_COMMAND + MOST_COMMANDS * WATCHED_OF_COMMAND };

/* As poll(2), which refuses more entries than this process may have open files, also where there is no file in them. */
static int poll_files(struct pollfd *watched, nfds_t count, int milliseconds) {
  static struct pollfd files[MOST_WATCHED];
  nfds_t many = 0;
  for (nfds_t i = 0; i < count; i++)
    if (watched[i].fd >= 0) files[many++] = watched[i];
  const int ready = poll(files, many, milliseconds);
  many = 0;
  for (nfds_t i = 0; i < count; i++) watched[i].revents = watched[i].fd >= 0 && ready > 0 ? files[many++].revents : 0;
  return ready;
}

void watch(struct jail_context *jail) {
  static struct pollfd watched[MOST_WATCHED];
  watched[WATCH_LIFELINE] = (struct pollfd){.fd = FD_LIFELINE, .events = POLLIN};
  watched[WATCH_SIGNALS] = (struct pollfd){.fd = jail->signals, .events = POLLIN};
  /* Looked at and never read: see stop_here. */
  watched[WATCH_STOPS] = (struct pollfd){.fd = jail->kept ? -1 : jail->stops, .events = POLLIN};
  watched[WATCH_REQUESTS] = (struct pollfd){.fd = jail->requests, .events = POLLIN};
  watched[WATCH_ANSWERS] = (struct pollfd){.fd = jail->kept ? FD_HANDOVER : -1, .events = POLLIN};
  const int init = jail->kept ? sys_pidfd_open(jail->ties.init) : -1;
  for (;;) {
    uint32_t count = jail->count;
    const bool is_behind = person_terminal_look(&jail->terminal.person);
    for (uint32_t i = 0; i < count; i++)
      list_command(jail->commands[i], is_behind, &watched[FIRST_COMMAND + i * WATCHED_OF_COMMAND]);
    watched[WATCH_RENAMES] = (struct pollfd){.fd = jail->renames.answer, .events = POLLIN};
    watched[WATCH_LEFT] = (struct pollfd){.fd = jail->left_calls, .events = POLLIN};
    /* Commands end with it, and their ends are said first. */
    watched[WATCH_INIT] = (struct pollfd){.fd = count == 0 ? init : -1, .events = POLLIN};
    int ready = poll_files(watched, FIRST_COMMAND + count * WATCHED_OF_COMMAND, patience(jail, is_behind));
    if (ready < 0 && errno != EINTR) fail("waiting");
    look_in_time(jail, &watched[FIRST_COMMAND]);
    if (count > 0) held_look(&jail->held);
    if (ready < 0) continue;
    bool asked = watched[WATCH_SIGNALS].revents && take_signal(jail);
    if (watched[WATCH_STOPS].revents) suspend(&jail->terminal, jail->commands[0]->pid, false);
    if (asked || watched[WATCH_LIFELINE].revents) {
      kill(jail->ties.init, SIGKILL);
      watched[WATCH_LIFELINE].fd = -1;
      if (jail->kept) return;
    }
    /* Before the commands, whose ends wait for it. */
    if (watched[WATCH_RENAMES].revents) renames_go_on(jail);
    /* From the last: one that is forgotten changes places with one that was looked at already. */
    for (uint32_t i = count; i-- > 0;) {
      struct command *command = jail->commands[i];
      if (!serve_command(jail, command, &watched[FIRST_COMMAND + i * WATCHED_OF_COMMAND]) && !command->ended) continue;
      if (!jail->kept && i == 0) return; /* the one that the jail was made for: others end with it */
      if (!has_ended_for_us(jail, command)) continue;
      struct ending ending = collect(jail->commands[i]);
      report_end(jail->commands[i], &ending);
      uint32_t ended = jail->commands[i]->id;
      forget(jail, i);
      if (jail->count > 0) held_follow(&jail->held, ended, jail->commands[0]->id);
    }
    if (watched[WATCH_LEFT].revents) take_left_calls(jail);
    if (watched[WATCH_INIT].revents) return; /* nothing can be started in it any more */
    if (watched[WATCH_ANSWERS].revents && !discard_answers()) watched[WATCH_ANSWERS].fd = -1;
    if (watched[WATCH_REQUESTS].revents && !take_request(jail)) {
      if (jail->kept) return;
      watched[WATCH_REQUESTS].fd = -1;
    }
  }
}
