#ifndef CTX_JAIL_TERMINAL_H
#define CTX_JAIL_TERMINAL_H

/* The command's terminal: opened inside, carried by the owner. */
#include "owner/relay.h"
#include "person-terminal.h"

#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/types.h>

struct terminal {
  bool wanted; /* the command gets one */
  bool asked;  /* by the process that keeps the jail, of this size */
  bool modes;  /* it starts with those of the person's: behind a shell they are the shell's own */
  struct winsize size;
  struct person_terminal person; /* in the owner of a jail for one command that is in the person's session */
  int carrier;                   /* else this carries it (terminal-wire.h); -1 where nothing does */
  bool carried;                  /* it has the command's terminal */
};

/* Before anything is opened: what carries the person's terminal, where this process is not in the person's session. */
void terminal_find_carrier(struct terminal *terminal);
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

/*
 * In the owner, or in what carries it. The person's terminal is raw from here until terminal_end, which is safe to call
 * at any time, while this process is in front.
 */
void terminal_keep(struct terminal *terminal, int channel, pid_t command, struct relay relays[RELAYS]);
/* All that the command wrote there has been copied, or is by what carries it. */
void terminal_end(struct terminal *terminal);
void terminal_resize(const struct terminal *terminal);
/* Between them, while the command is stopped; one that is carried is seen to by its carrier. */
void terminal_restore(struct terminal *terminal);
/* The command has ended: what is typed from here on is not its. */
void terminal_unread(const struct terminal *terminal);

#endif
