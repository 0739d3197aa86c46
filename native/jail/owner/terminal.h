#ifndef CTX_JAIL_TERMINAL_H
#define CTX_JAIL_TERMINAL_H

/* The command's terminal: opened inside, carried by the owner. */
#include "owner/relay.h"

#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

struct terminal {
  bool wanted; /* the command gets one */
  bool asked;  /* by the process that keeps the jail, of this size */
  struct winsize size;
  int master; /* in the owner of a jail for one command; else -1 */
  bool raw;   /* the person's is, and gets these modes back */
  struct termios saved;
};

/*
 * Whether the person sits at a terminal: then the command gets one of its own. Decided once, before the streams are
 * touched.
 */
void terminal_decide(struct terminal *terminal);
/* In a kept jail, for the next command: a terminal of this size, or none where it is null. */
void terminal_ask(struct terminal *terminal, const struct winsize *size);

/*
 * In the command's process, after it has taken its identity: opens the pair, sends the owner its side, takes the other.
 */
void terminal_take(const struct terminal *terminal, int channel);

/*
 * In the owner of a kept jail: copies between the terminal and pipes, whose ends are in the relays of stdin and stdout.
 */
void terminal_serve(int channel, struct relay relays[RELAYS]);
void terminal_resize_to(const struct relay relays[RELAYS], const struct winsize *size);

/* In the owner. The person's terminal is raw from here until terminal_restore, which is safe to call at any time. */
void terminal_keep(struct terminal *terminal, int channel, struct relay relays[RELAYS]);
void terminal_resize(const struct terminal *terminal);
void terminal_restore(struct terminal *terminal);
/* Raw again after terminal_restore, with the modes and the size that the person's terminal has by then. */
void terminal_again(struct terminal *terminal);
/* Whether the person has just typed the key that stops the command; it is taken out of the input. */
bool terminal_stops(const struct terminal *terminal, struct relay *input, pid_t command);

#endif
