#ifndef CTX_JAIL_TERMINAL_H
#define CTX_JAIL_TERMINAL_H

#include "relay.h"

#include <stdbool.h>
#include <sys/ioctl.h>

/* Whether the person sits at a terminal: then the command gets one of its own. Decided once, before the streams are
 * touched. */
void terminal_decide(void);
/* In a kept jail, for the next command: a terminal of this size, or none where it is null. */
void terminal_ask(const struct winsize *size);
bool terminal_wanted(void);

/* In the command's process, after it has taken its identity: opens the pair, sends the owner its side, takes the other.
 */
void terminal_take(int channel);

/* In the owner of a kept jail: copies between the terminal and pipes, whose ends are in the relays of stdin and stdout.
 */
void terminal_serve(int channel, struct relay relays[RELAYS]);
void terminal_resize_to(const struct relay relays[RELAYS], const struct winsize *size);

/* In the owner. The person's terminal is raw from here until terminal_restore, which is safe to call at any time. */
void terminal_keep(int channel, struct relay relays[RELAYS]);
void terminal_resize(void);
void terminal_restore(void);
/* Raw again after terminal_restore, with the modes and the size that the person's terminal has by then. */
void terminal_again(void);
/* Whether the person has just typed the key that stops the command; it is taken out of the input. */
bool terminal_stops(struct relay *input, pid_t command);

#endif
