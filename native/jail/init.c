/*
 * pid 1 of the jail: reaps what is orphaned, and ends with its owner, or with whoever started that: the owner may be waiting
 * for a terminal that nobody reads. When it dies the kernel kills everything in the
 * jail, so that is how a jail ends. It holds nothing worth stealing, and nothing inside may look into it.
 */
#include "jail.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn void be_init(int owner, int lifeline)
{
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	struct pollfd watched[] = {
		{.fd = owner, .events = POLLIN},
		{.fd = lifeline, .events = POLLIN},
		{.fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN},
	};
	for (;;) {
		struct signalfd_siginfo ignored;
		while (read(watched[2].fd, &ignored, sizeof ignored) > 0)
			;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (poll(watched, 3, -1) < 0 && errno != EINTR)
			_exit(125);
		if (watched[0].revents || watched[1].revents)
			_exit(0);
	}
}
