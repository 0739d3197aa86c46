/*
 * The person's terminal while a command has one of its own, whose other side is `master`: raw, and copied to and from.
 * Done by a process of the person's own session alone, since the kernel stops no other in the background: the owner of
 * the jail, or `native/call` where a keeper runs the call.
 */
#ifndef CTX_PERSON_TERMINAL_H
#define CTX_PERSON_TERMINAL_H

#include "relay-bytes.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct person_terminal {
  int master; /* -1 where there is none */
  bool raw;   /* the person's is, and gets these modes back */
  struct termios saved;
};

/* Where this process is in the background the kernel stops it here. */
static inline void person_terminal_raw(struct person_terminal *person) {
  if (tcgetattr(0, &person->saved) != 0) return;
  struct termios through = person->saved;
  cfmakeraw(&through);
  person->raw = tcsetattr(0, TCSADRAIN, &through) == 0;
}

static inline void person_terminal_restore(struct person_terminal *person) {
  /* Behind the shell it is the shell's, and setting its modes would stop us there. */
  if (person->raw && tcgetpgrp(0) == getpgrp()) tcsetattr(0, TCSADRAIN, &person->saved);
  person->raw = false;
}

/*
 * Whether this process goes on behind the shell only to end, as after `kill %1` of a stopped job: taking the terminal
 * would stop it again.
 */
static inline bool person_terminal_lets_end(void) {
  static const int endings[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  sigset_t pending;
  if (tcgetpgrp(0) == getpgrp() || sigpending(&pending) != 0) return false;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (sigismember(&pending, endings[i])) return true;
  return false;
}

/* The kernel tells the process that is in front inside. */
static inline void person_terminal_resize(const struct person_terminal *person) {
  struct winsize size;
  if (person->master >= 0 && ioctl(0, TIOCGWINSZ, &size) == 0) ioctl(person->master, TIOCSWINSZ, &size);
}

static inline void person_terminal_copy(const struct person_terminal *person, struct relay relays[RELAYS]) {
  fcntl(person->master, F_SETFL, O_NONBLOCK);
  relay_clear(&relays[0]);
  relay_clear(&relays[1]);
  /* Two descriptors of it, so that the end of one direction does not end the other. */
  relays[0].from = 0;
  relays[0].to = fcntl(person->master, F_DUPFD_CLOEXEC, 0);
  relays[1].from = fcntl(person->master, F_DUPFD_CLOEXEC, 0);
  relays[1].to = 1;
}

/*
 * Moves what is typed. Behind the shell this process is stopped as by reading there; but a read that was stopped goes on
 * when the job is in front again, and waits for a key then, while the command writes. Both who call this have SIGCONT
 * blocked: where it does not wait nothing has stopped us, since no shell could let us go on, and the read says so.
 */
static inline void person_terminal_move(const struct person_terminal *person, struct relay relays[RELAYS]) {
  sigset_t pending;
  if (person->master >= 0 && relays[0].start >= relays[0].stop && tcgetpgrp(0) != getpgrp()) {
    kill(0, SIGTTIN);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT)) return;
  }
  relay_move(relays, 0);
}

/*
 * Whether the person has just typed the key that stops a job; it is taken out of the input. The command leads a session
 * of its own, whose group the kernel takes for orphaned and does not stop by a key: we stop it, and ourselves, for the
 * shell that started us. What reads key by key (an editor, a shell's prompt) or has put another group in front (a shell
 * inside) gets the key as it is.
 */
static inline bool person_terminal_stops(const struct person_terminal *person, struct relay *input, pid_t command) {
  struct termios modes;
  pid_t front = 0;
  if (person->master < 0 || !person->raw || input->start >= input->stop) return false;
  if (tcgetattr(person->master, &modes) != 0 || !(modes.c_lflag & ISIG) || !(modes.c_lflag & ICANON)) return false;
  char key = (char)modes.c_cc[VSUSP];
  if (key == _POSIX_VDISABLE || ioctl(person->master, TIOCGPGRP, &front) != 0 || front != command) return false;
  char *found = memchr(input->bytes + input->start, key, input->stop - input->start);
  if (!found) return false;
  /* As a terminal does: what was typed before the key is dropped with it. */
  input->start = (size_t)(found - input->bytes) + 1;
  return true;
}

#endif
