#include "watch.h"
#include "crowd.h"
#include "held.h"
#include "jail.h"
#include "serve.h"
#include "syscalls.h"
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

int forwarded_signals(void)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
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

/* In a kept jail whoever asks for a command also says which signal it gets; what is sent to us is for nobody. */
static void take_signal(struct jail *jail)
{
	struct signalfd_siginfo info;
	if (read(jail->signals, &info, sizeof info) == sizeof info && !jail->kept)
		forward((int)info.ssi_signo, jail->commands[0]->pid);
}

struct ending collect(const struct command *command)
{
	struct ending ending;
	if (wait4(command->pid, &ending.status, 0, &ending.used) != command->pid)
		fail("collecting the command");
	return ending;
}

/* Between two looks some end: a bomb that is held is never seen full. */
enum { CROWD_SLACK = 8 };

static long long microseconds(struct timeval time)
{
	return (long long)time.tv_sec * 1000000 + time.tv_usec;
}

void report_end(const struct command *command, const struct ending *ending)
{
	const struct rusage *used = &ending->used;
	report_about(command->id);
	report_refused_calls(&command->refusals);
	if (command->most_threads > 0 && command->crowd + CROWD_SLACK >= command->most_threads)
		report("crowded %u %llu", command->crowd, (unsigned long long)command->most_threads);
	report("exited %d %lld %lld %ld", ending->status, microseconds(used->ru_utime), microseconds(used->ru_stime),
	       used->ru_maxrss);
	report_about(0);
}

static void forget(struct jail *jail, uint32_t index)
{
	struct command *command = jail->commands[index];
	close(command->process);
	if (command->listener >= 0)
		close(command->listener);
	relays_close(command->relays);
	free(command->relays);
	free(command);
	jail->commands[index] = jail->commands[--jail->count];
}

/* What is watched of a command; its streams come last, so that `of[FIRST_STREAM + i]` is stream i. */
enum { WATCH_PROCESS, WATCH_CALLS, FIRST_STREAM, WATCHED_OF_COMMAND = FIRST_STREAM + RELAYS };
enum { WATCH_LIFELINE, WATCH_SIGNALS, WATCH_REQUESTS, WATCH_ANSWERS, FIRST_COMMAND };

static void list_command(const struct command *command, struct pollfd *of)
{
	of[WATCH_PROCESS] = (struct pollfd){.fd = command->process, .events = POLLIN};
	of[WATCH_CALLS] = (struct pollfd){.fd = command->listener, .events = POLLIN};
	for (int i = 0; i < RELAYS; i++)
		of[FIRST_STREAM + i] = relay_wants(&command->relays[i]);
}

/* True where it has ended. */
static bool serve_command(struct command *command, const struct pollfd *of)
{
	if (of[WATCH_CALLS].revents & POLLIN) {
		refuse_call(command->listener, &command->refusals);
	} else if (of[WATCH_CALLS].revents) {
		close(command->listener);
		command->listener = -1;
	}
	for (int i = 0; i < RELAYS; i++)
		if (of[FIRST_STREAM + i].revents)
			relay_move(command->relays, i);
	return of[WATCH_PROCESS].revents;
}

static long long milliseconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void look_at_crowd(struct jail *jail)
{
	uint32_t threads = count_threads();
	for (uint32_t i = 0; i < jail->count; i++)
		if (threads > jail->commands[i]->crowd)
			jail->commands[i]->crowd = threads;
}

/* One that was looked at before: what ends at once is not worth a look. */
static bool long_one_ended(const struct jail *jail, const struct pollfd *of)
{
	for (uint32_t i = 0; i < jail->count; i++)
		if (jail->commands[i]->crowd > 0 && of[i * WATCHED_OF_COMMAND + WATCH_PROCESS].revents)
			return true;
	return false;
}

/* Now and then, and once more at the end: a crowd that fills up keeps its own command from going on. */
static void look_in_time(struct jail *jail, const struct pollfd *of)
{
	static long long looked;
	long long now = milliseconds_now();
	if (looked == 0)
		looked = now;
	if (now - looked < CROWD_LOOK_MS && !long_one_ended(jail, of))
		return;
	looked = now;
	look_at_crowd(jail);
}

static int patience(uint32_t commands)
{
	if (commands == 0)
		return -1;
	return held_patience() >= 0 ? held_patience() : CROWD_LOOK_MS;
}

void watch(struct jail *jail)
{
	static struct pollfd watched[FIRST_COMMAND + MOST_COMMANDS * WATCHED_OF_COMMAND];
	watched[WATCH_LIFELINE] = (struct pollfd){.fd = FD_LIFELINE, .events = POLLIN};
	watched[WATCH_SIGNALS] = (struct pollfd){.fd = jail->signals, .events = POLLIN};
	watched[WATCH_REQUESTS] = (struct pollfd){.fd = jail->kept ? FD_PLAN : -1, .events = POLLIN};
	watched[WATCH_ANSWERS] = (struct pollfd){.fd = jail->kept ? FD_HANDOVER : -1, .events = POLLIN};
	for (;;) {
		uint32_t count = jail->count;
		for (uint32_t i = 0; i < count; i++)
			list_command(jail->commands[i], &watched[FIRST_COMMAND + i * WATCHED_OF_COMMAND]);
		int ready = poll(watched, FIRST_COMMAND + count * WATCHED_OF_COMMAND, patience(count));
		if (ready < 0 && errno != EINTR)
			fail("waiting");
		look_in_time(jail, &watched[FIRST_COMMAND]);
		if (count > 0)
			held_look();
		if (ready <= 0)
			continue;
		if (watched[WATCH_SIGNALS].revents)
			take_signal(jail);
		if (watched[WATCH_LIFELINE].revents) {
			kill(jail->init, SIGKILL);
			watched[WATCH_LIFELINE].fd = -1;
			if (jail->kept)
				return;
		}
		/* From the last: one that is forgotten changes places with one that was looked at already. */
		for (uint32_t i = count; i-- > 0;) {
			if (!serve_command(jail->commands[i], &watched[FIRST_COMMAND + i * WATCHED_OF_COMMAND]))
				continue;
			if (!jail->kept)
				return;
			relays_flush(jail->commands[i]->relays);
			struct ending ending = collect(jail->commands[i]);
			report_end(jail->commands[i], &ending);
			forget(jail, i);
		}
		if (watched[WATCH_ANSWERS].revents && !discard_answers())
			watched[WATCH_ANSWERS].fd = -1;
		if (watched[WATCH_REQUESTS].revents && !take_request(jail))
			return;
	}
}
