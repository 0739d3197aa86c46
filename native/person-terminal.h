/*
 * The person's terminal while a command has one of its own, whose other side is `master`: raw, and copied to and from.
 * Done by a process of the person's own session alone, since the kernel stops no other in the background: the owner of
 * the jail, or `native/call` where a keeper runs the call.
 */
#ifndef CTX_PERSON_TERMINAL_H
#define CTX_PERSON_TERMINAL_H

#include "relay-bytes.h"

#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct person_terminal {
  int master;  /* -1 where there is none */
  bool source; /* stdin is the person's terminal, whether the command has one of its own or not */
  bool raw;    /* the person's is, and gets these modes back */
  bool known;  /* they were read once */
  struct termios saved;
};

/* Nothing tells a job that runs that it was put in front: it looks so often. */
enum { PERSON_LOOK_MILLISECONDS = 200 };

/* Whether the terminal is the shell's, or another job's. One that is gone is nobody's: reading says so. */
static inline bool person_terminal_is_behind(const struct person_terminal *person) {
  const pid_t front = person->source ? tcgetpgrp(0) : -1;
  return front >= 0 && front != getpgrp();
}

/* The kernel tells the process that is in front inside. */
static inline void person_terminal_resize(const struct person_terminal *person) {
  struct winsize size;
  if (person->master >= 0 && ioctl(0, TIOCGWINSZ, &size) == 0) ioctl(person->master, TIOCSWINSZ, &size);
}

static inline struct termios person_terminal_through(const struct person_terminal *person) {
  struct termios through = person->saved;
  cfmakeraw(&through);
  return through;
}

/* Those that we set: a shell gives them back to a job that was stopped so. */
static inline bool person_terminal_has_our_modes(const struct person_terminal *person, const struct termios *modes) {
  const struct termios through = person_terminal_through(person);
  return person->known && modes->c_lflag == through.c_lflag && modes->c_oflag == through.c_oflag &&
         modes->c_iflag == through.c_iflag && modes->c_cflag == through.c_cflag;
}

/*
 * Before each wait: raw where this process is in front. True where it is behind the shell: the command runs there and
 * writes, as other jobs do, and what it reads waits.
 */
static inline bool person_terminal_look(struct person_terminal *person) {
  if (person_terminal_is_behind(person)) {
    person->raw = false;
    return true;
  }
  struct termios modes;
  if (person->master < 0 || person->raw || tcgetattr(0, &modes) != 0) return false;
  if (!person_terminal_has_our_modes(person, &modes)) person->saved = modes;
  person->known = true;
  const struct termios through = person_terminal_through(person);
  person->raw = tcsetattr(0, TCSADRAIN, &through) == 0;
  person_terminal_resize(person);
  return false;
}

/* After a stop that nothing could prepare for, a shell has set modes of its own. */
static inline void person_terminal_continued(struct person_terminal *person) {
  struct termios modes;
  if (person->raw && tcgetattr(0, &modes) == 0 && modes.c_lflag & ICANON) person->raw = false;
  person_terminal_look(person);
}

static inline void person_terminal_restore(struct person_terminal *person) {
  /* Behind the shell it is the shell's, and setting its modes would stop us there. */
  if (person->raw && tcgetpgrp(0) == getpgrp()) tcsetattr(0, TCSADRAIN, &person->saved);
  person->raw = false;
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

/* What is typed behind the shell is not for us, and reading it would stop us. */
static inline struct pollfd person_terminal_wants(const struct relay *input, bool is_behind) {
  return is_behind && input->start >= input->stop ? (struct pollfd){.fd = -1} : relay_wants(input);
}

/* Looks once more: a read that was stopped goes on when the job is in front again, and waits there for a key. */
static inline void person_terminal_move(const struct person_terminal *person, struct relay relays[RELAYS]) {
  if (relays[0].start >= relays[0].stop && person_terminal_is_behind(person)) return;
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
