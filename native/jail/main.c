/*
 * jail: executes a plan (see plan.h); `jail probe` only tries what this host allows (probe.c). Three processes, each with its own operations, in the plan's order:
 *
 *   owner     this process, outside the pid namespace: makes the namespaces, starts the other two, forwards signals, and
 *             alone says how the command ended. Whatever runs inside can neither see nor forge that.
 *   init      pid 1 inside: mounts everything, enters the new root, drops what it may do, then only reaps.
 *   command   once init is ready: takes its identity, drops everything, becomes the program.
 *
 * Reports go to FD_REPORT as NUL-ended lines: "started", "refused SYSTEM_CALL COUNT FIRST_MS LAST_MS", "exited STATUS USER_US SYSTEM_US MAXRSS_KB",
 * "failed INDEX NAME ERRNO what". When FD_LIFELINE ends, so does everything here.
 */
#include "descriptor.h"
#include "jail.h"
#include "relay.h"
#include "restrict.h"
#include "syscalls.h"
#include "terminal.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SHIFTED_INIT_OFFSET = 1 };

static void open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		fail("making a pipe");
}

/* Where root made the jail, its init is a stranger both to the host and to the command. */
static void give_init_up(const struct plan *plan)
{
	const struct operation *shift = find(plan, OP_SHIFT);
	if (shift) {
		uint32_t stranger = high_half(shift->number) + low_half(shift->number) + SHIFTED_INIT_OFFSET;
		if (setgroups(0, NULL) != 0)
			fail("leaving the groups");
		become(stranger, stranger);
	} else {
		become(getuid(), getgid());
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		fail("closing init");
}

/* What ties the three together. */
struct ties {
	pid_t init;
	int all_are_there; /* the owner writes one byte when the command's process exists */
	int init_is_ready; /* init writes which root it entered when everything is mounted */
	int init_lifeline; /* ends with the owner; init ends with it */
};

/* Which directory "/" is. */
struct root_identity {
	dev_t device;
	ino_t inode;
};

static struct root_identity current_root(void)
{
	struct stat about;
	if (stat("/", &about) != 0)
		fail("/");
	return (struct root_identity){.device = about.st_dev, .inode = about.st_ino};
}

static struct ties start_init(const struct plan *plan)
{
	int there[2], ready[2], alive[2];
	open_pipe(there);
	open_pipe(ready);
	open_pipe(alive);
	pid_t pid = fork();
	if (pid < 0)
		fail("starting init");
	if (pid == 0) {
		close(alive[1]);
		close(there[1]);
		wait_before_pivot(there[0]);
		execute_stage(plan, STAGE_INIT, -1);
		struct root_identity entered = current_root();
		give_init_up(plan);
		if (write(ready[1], &entered, sizeof entered) != sizeof entered)
			_exit(EXIT_FAILED);
		if (dup2(alive[0], 0) != 0 || dup2(FD_LIFELINE, 1) != 1)
			_exit(EXIT_FAILED);
		sys_close_range(2, ~0U, 0);
		be_init(0, 1);
	}
	close(there[0]);
	close(ready[1]);
	close(alive[0]);
	return (struct ties){.init = pid, .all_are_there = there[1], .init_is_ready = ready[0], .init_lifeline = alive[1]};
}

static void restore_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
}

/*
 * The root of this process changed under it when init entered the new one; where it stands did not. A process that was just
 * being forked at that moment would have kept the host's root: init waits for it, and here it is checked.
 */
static void enter_when_ready(const struct ties *ties)
{
	struct root_identity entered;
	if (read(ties->init_is_ready, &entered, sizeof entered) != sizeof entered)
		give_up(); /* init has said why */
	struct root_identity own = current_root();
	if (own.device != entered.device || own.inode != entered.inode)
		fail_with(EXDEV, "this process is not in the jail's root");
	if (chdir("/") != 0)
		fail("entering the new root");
}

/*
 * Started while init is still mounting, so that it is there when init is ready. `listener` gets the filter's, or -1 where the
 * plan has no filter. Returns -1 where init or the command's process has said why it failed.
 */
static pid_t start_command(const struct plan *plan, const struct ties *ties, struct relay *relays, mode_t mask_of_caller,
			   int *listener)
{
	const struct operation *shift = find(plan, OP_SHIFT);
	int channel[2], executed[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
		fail("making a socket");
	open_pipe(executed);
	pid_t pid = fork();
	if (pid < 0 && waitpid(ties->init, NULL, WNOHANG) == ties->init)
		return -1; /* nothing can start in a namespace whose init has ended */
	if (pid < 0)
		fail("starting the command");
	if (pid == 0) {
		close(channel[0]);
		tell_progress(executed[1]);
		/* A session of its own: the person's terminal is never its controlling one, so nothing can be typed into it. */
		setsid();
		restore_signals();
		umask(mask_of_caller);
		relays_take(relays);
		sys_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
		enter_when_ready(ties);
		/* Not earlier: while init changes the root, the kernel takes this process for a chrooted one and refuses. */
		if (shift)
			shift_identity(channel[1]);
		execute_stage(plan, STAGE_COMMAND, channel[1]);
		fail_with(EINVAL, "the plan has no command");
	}
	if (write(ties->all_are_there, "", 1) != 1)
		return -1; /* init has ended, and said why */
	close(channel[1]);
	close(executed[1]);
	char byte;
	if (shift && read(channel[0], &byte, 1) == 1) {
		write_shifted_maps(pid, high_half(shift->number), low_half(shift->number));
		if (write(channel[0], "", 1) != 1)
			fail("answering the command");
	}
	if (terminal_wanted())
		terminal_keep(channel[0], relays);
	*listener = find(plan, OP_SECCOMP) ? receive_descriptor(channel[0]) : -1;
	bool executing = read(executed[0], &byte, 1) == 1 && byte == PROGRESS_EXECUTING;
	bool failed = !executing || read(executed[0], &byte, 1) > 0;
	close(channel[0]);
	close(executed[0]);
	relays_keep(relays);
	return failed ? -1 : pid;
}

/* Without a terminal of its own the command is stopped by us; Ctrl-C and the like are passed on. */
static void forward(int number, pid_t command)
{
	if (number == SIGWINCH) {
		terminal_resize();
	} else if (number == SIGTSTP) {
		kill(-command, SIGSTOP);
		raise(SIGSTOP);
		kill(-command, SIGCONT);
	} else {
		kill(-command, number);
	}
}

static int forwarded_signals(void)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The streams come last, so that `watched[FIRST_STREAM + i]` is stream i. */
enum { WATCH_COMMAND, WATCH_LIFELINE, WATCH_SIGNALS, WATCH_CALLS, FIRST_STREAM, WATCHED = FIRST_STREAM + RELAYS };

static void wait_for(pid_t command, int signals, int listener, pid_t init, struct relay *relays)
{
	struct pollfd watched[WATCHED] = {
		[WATCH_COMMAND] = {.fd = sys_pidfd_open(command), .events = POLLIN},
		[WATCH_LIFELINE] = {.fd = FD_LIFELINE, .events = POLLIN},
		[WATCH_SIGNALS] = {.fd = signals, .events = POLLIN},
		[WATCH_CALLS] = {.fd = listener, .events = POLLIN},
	};
	if (watched[WATCH_COMMAND].fd < 0)
		fail("watching the command");
	while (!watched[WATCH_COMMAND].revents) {
		for (int i = 0; i < RELAYS; i++)
			watched[FIRST_STREAM + i] = relay_wants(&relays[i]);
		if (poll(watched, WATCHED, -1) < 0) {
			if (errno != EINTR)
				fail("waiting for the command");
			continue;
		}
		struct signalfd_siginfo info;
		if (watched[WATCH_SIGNALS].revents && read(signals, &info, sizeof info) == sizeof info)
			forward((int)info.ssi_signo, command);
		if (watched[WATCH_LIFELINE].revents) {
			kill(init, SIGKILL);
			watched[WATCH_LIFELINE].fd = -1;
		}
		if (watched[WATCH_CALLS].revents & POLLIN)
			refuse_call(listener);
		else if (watched[WATCH_CALLS].revents)
			watched[WATCH_CALLS].fd = -1; /* nobody is left who could call */
		for (int i = 0; i < RELAYS; i++)
			if (watched[FIRST_STREAM + i].revents)
				relay_move(relays, i);
	}
	close(watched[WATCH_COMMAND].fd);
}

static bool has_shifted_binds(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->operations[i].code == OP_BIND && plan->operations[i].flags & MOUNT_ATTR_IDMAP)
			return true;
	return false;
}

/* Whoever is still inside dies with init. When this returns, nothing runs and nothing is mounted. */
static void end_jail(const struct plan *plan, pid_t init, struct relay *relays)
{
	kill(init, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	release_overlays(plan);
	relays_drain(relays);
	terminal_restore();
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "probe") == 0)
		return probe(argv[2]);
	sys_close_range(FD_FIRST_OTHER, ~0U, 0);
	for (int descriptor = FD_PLAN; descriptor < FD_FIRST_OTHER; descriptor++)
		if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 && descriptor < FD_LOCK)
			return EXIT_FAILED;

	size_t size;
	struct plan plan;
	char *bytes = plan_read(FD_PLAN, &size);
	if (!bytes)
		fail("reading the plan");
	const char *problem = plan_parse(bytes, size, &plan);
	if (problem)
		fail_with(EINVAL, problem);
	close(FD_PLAN);

	int signals = forwarded_signals();
	static struct relay relays[RELAYS];
	mode_t mask_of_caller = umask(0022);
	signal(SIGPIPE, SIG_IGN);
	open_host_proc();
	const struct operation *shift = find(&plan, OP_SHIFT), *user = find(&plan, OP_USER);
	if (shift && has_shifted_binds(&plan))
		make_namespace_of_shift(high_half(shift->number), low_half(shift->number));
	execute_stage(&plan, STAGE_OWNER, -1);
	struct ties ties = start_init(&plan);
	terminal_decide();
	relays_open(relays);
	if (shift && user)
		relays_give(relays, high_half(shift->number) + high_half(user->number),
			    high_half(shift->number) + low_half(user->number));
	int listener;
	pid_t command = start_command(&plan, &ties, relays, mask_of_caller, &listener);
	if (chdir("/") != 0) /* out of the old root, which ends with that */
		fail("entering the new root");
	int status = 0;
	struct rusage used;
	if (command > 0) {
		report("started");
		wait_for(command, signals, listener, ties.init, relays);
		if (wait4(command, &status, 0, &used) != command)
			fail("collecting the command");
	}
	end_jail(&plan, ties.init, relays);
	if (command < 0)
		return EXIT_FAILED;
	report_refused_calls();
	report("exited %d %lld %lld %ld", status, (long long)used.ru_utime.tv_sec * 1000000 + used.ru_utime.tv_usec,
	       (long long)used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec, used.ru_maxrss);
	return 0;
}
