/*
 * jail: executes a plan (see plan.h). `jail serve` keeps the jail for many commands, `jail beside` takes more beside the
 * one that it is made for (serve.h), `jail probe` only tries what this host allows (probe.c). Three processes, each with
 * its own operations, in the plan's order:
 *
 *   owner     this process, outside the pid namespace: makes the namespaces, the network's last, starts the other two,
 *             forwards signals, and alone says how a command ended. What runs inside can neither see nor forge that.
 *   init      pid 1 inside: mounts everything, enters the new root, drops what it may do, then only reaps.
 *   command   once init is ready: takes its identity, drops everything, becomes the program.
 *
 * Reports go to FD_REPORT as NUL-ended lines, each with the number of its command, or 0 for the jail itself and for the
 * one command of a jail that is not kept:
 *
 *   ID started                              ID refused SYSTEM_CALL COUNT FIRST_MS LAST_MS
 *   ID crowded THREADS MOST                 ID unwritten STREAM ERRNO
 *   ID held BYTES FILES HIDDEN              ID exited STATUS USER_US SYSTEM_US MAXRSS_KB
 *   ID failed INDEX NAME ERRNO what         ID renamed DIRECTORIES FILES BYTES MS
 *   0 read-only-cache PID TARGET            ID released, ID mounted
 *
 * When FD_LIFELINE ends, so does everything here; where the jail is not kept, what the plan came through is that, and
 * FD_LIFELINE is the socket of requests until then.
 */
#include "calls/renames.h"
#include "context.h"
#include "jail.h"
#include "mount/cache.h"
#include "mount/join.h"
#include "mount/staging.h"
#include "owner/held.h"
#include "owner/serve.h"
#include "owner/sockets.h"
#include "owner/terminal.h"
#include "process/restrict.h"
#include "syscalls.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Whatever is still inside dies with init. When this returns, nothing runs and nothing is mounted. */
static void end_jail(struct jail_context *jail) {
  kill(jail->ties.init, SIGKILL);
  end_taker(jail);
  while (waitpid(-1, NULL, 0) > 0)
    ;
  end_sockets(jail);
  /* Last, so that no one else has them: what the dying let go of, the kernel would take down some time later. */
  release_overlays(jail->plan);
}

static int run_once(struct jail_context *jail) {
  static struct relay relays[RELAYS];
  static struct command command = {.relays = relays};
  terminal_decide(&jail->terminal);
  relays_open(jail->host.processes, jail->terminal.wanted, relays);
  give_streams(jail->plan, jail->plan, relays);
  bool started = start_command(jail, jail->plan, &command);
  if (chdir("/") != 0) /* out of the old root, which ends with that */
    fail("entering the new root");
  if (started) {
    share_caches(jail->plan);
    report("started");
    held_watch(&jail->held, jail->plan, command.id);
    jail->commands[jail->count++] = &command;
    jail->ready = true;
    watch(jail);
    terminal_unread(&jail->terminal);
  }
  renames_finish(jail);
  /* Its status is taken before all the others are, and kept until they have written their last. */
  kill(jail->ties.init, SIGKILL); /* with the process that traces it, and would keep its status from us */
  struct ending ending = started ? collect(&command) : (struct ending){0};
  end_jail(jail);
  relays_drain(relays, FD_LIFELINE);
  terminal_end(&jail->terminal);
  /*
   * All is said and let go of before the end is told: the process that hears of it need not wait for this process to
   * end.
   */
  sys_close_range(0, 2, 0);
  close(FD_LOCK);
  if (started) report_end(&command, &ending);
  return started ? 0 : EXIT_FAILED;
}

static int serve(struct jail_context *jail) {
  if (!wait_for_init(&jail->ties)) give_up();
  keep_overlays(jail, jail->plan);
  share_caches(jail->plan);
  report("started");
  jail->ready = true;
  jail->requests = FD_PLAN;
  watch(jail);
  end_jail(jail);
  return 0;
}

static uint32_t count_channels(const struct plan *plan) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->count; i++) count += plan->operations[i].code == OP_FUSE;
  if (count > PLAN_MAX_CHANNELS) fail_with(E2BIG, "too many servers of mounts");
  return count;
}

static void close_channels(uint32_t first, uint32_t end) {
  if (first < end) sys_close_range(FD_FIRST_CHANNEL + first, FD_FIRST_CHANNEL + end - 1, 0);
}

static struct jail_context whole_jail = EMPTY_CONTEXT;

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "probe") == 0) return probe(argv[2]);
  hold_signals();
  bool kept = argc == 2 && strcmp(argv[1], "serve") == 0;
  bool asked_beside = argc == 2 && strcmp(argv[1], "beside") == 0;
  const bool closed = sys_close_range(FD_FIRST_OTHER, ~0U, 0) == 0 &&
                      sys_close_range(FD_PLAN, FD_FIRST_OTHER - 1, CLOSE_RANGE_CLOEXEC) == 0;
  const int error = errno;
  if (fcntl(FD_REPORT, F_GETFD) < 0 || (kept && fcntl(FD_LIFELINE, F_GETFD) < 0)) return EXIT_FAILED;
  if (!closed) fail_with(error, "closing what was inherited");

  struct jail_context *jail = &whole_jail;
  terminal_find_carrier(&jail->terminal);
  size_t size;
  struct plan plan;
  char *bytes = read_jail_plan(&size);
  if (!bytes) fail("reading the plan");
  const char *problem = plan_parse(bytes, size, kept ? PLAN_KEPT : PLAN_WHOLE, &plan);
  if (problem) fail_with(EINVAL, problem);
  /* Before anything else is opened, which would get these numbers. */
  const uint32_t channels = count_channels(&plan);
  if (channels < PLAN_MAX_CHANNELS) keep_sockets(jail, FD_FIRST_CHANNEL + (int)channels);
  close_channels(channels, PLAN_MAX_CHANNELS);
  if (asked_beside && (jail->requests = fcntl(FD_LIFELINE, F_DUPFD_CLOEXEC, FD_FIRST_OTHER)) < 0)
    fail("keeping the socket of requests");
  if (!kept && (dup3(FD_PLAN, FD_LIFELINE, O_CLOEXEC) < 0 || close(FD_PLAN) != 0)) fail("keeping the lifeline");

  jail->plan = &plan;
  jail->signals = forwarded_signals();
  jail->stops = stop_signals();
  jail->kept = kept;
  jail->mask = umask(0022);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* of a file that the person redirected to: a write beyond `ulimit -f` fails with EFBIG */
  open_host_proc(jail);
  if (kept) leave_taker_outside(jail);
  take_shared_overlays(jail, &plan);
  if (kept) keep_page_for_filters(); /* by a socket of the host's network, which nobody inside can list */
  const struct operation *shift = find(&plan, OP_SHIFT);
  if (shift) make_namespace_of_shift(jail, high_half(shift->number), low_half(shift->number));
  execute_stage(jail, &plan, STAGE_OWNER, -1);
  lock_caches(&plan);
  if (kept) keep_staging(jail);
  start_init(jail);
  close_taken(&plan);
  close_channels(0, channels); /* init's alone: a server whose jail cannot be made is told by the end of it */
  make_network(jail, &plan);
  return kept ? serve(jail) : run_once(jail);
}
