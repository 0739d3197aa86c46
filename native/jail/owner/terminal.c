/*
 * A terminal of the jail's own. The person's terminal device never enters the jail: nothing can be typed into it, its
 * modes cannot be changed, and job control works inside, since the command has a controlling terminal. The pair is
 * opened by the command's own user in the jail's own devpts; the owner copies between it and the person's.
 */
#include "owner/terminal.h"
#include "descriptor.h"
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

void terminal_decide(struct terminal *terminal) {
  terminal->wanted = isatty(0) && isatty(1);
}

void terminal_ask(struct terminal *terminal, const struct winsize *size) {
  terminal->wanted = terminal->asked = size != NULL;
  if (size) terminal->size = *size;
}

static int open_pair(int *slave) {
  int unlocked = 0;
  int leader = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (leader < 0 || ioctl(leader, TIOCSPTLCK, &unlocked) != 0) fail("opening a terminal");
  *slave = ioctl(leader, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (*slave < 0) fail("opening a terminal");
  return leader;
}

void terminal_take(const struct terminal *terminal, int channel) {
  struct winsize size;
  struct termios modes;
  int slave, leader = open_pair(&slave);
  if (!terminal->asked && tcgetattr(0, &modes) == 0) tcsetattr(slave, TCSANOW, &modes);
  if (terminal->asked)
    ioctl(slave, TIOCSWINSZ, &terminal->size);
  else if (ioctl(0, TIOCGWINSZ, &size) == 0)
    ioctl(slave, TIOCSWINSZ, &size);
  if (ioctl(slave, TIOCSCTTY, 0) != 0) fail("taking the terminal");
  bool errors_too = terminal->asked || isatty(2);
  if (dup2(slave, 0) < 0 || dup2(slave, 1) < 0 || (errors_too && dup2(slave, 2) < 0)) fail("taking the terminal");
  send_descriptor(channel, leader);
  close(leader);
  close(slave);
}

void terminal_serve(int channel, struct relay relays[RELAYS]) {
  int leader = receive_descriptor(channel);
  if (leader < 0) return; /* the command's process has said why */
  fcntl(leader, F_SETFL, O_NONBLOCK);
  relays[0].to = leader;
  relays[1].from = fcntl(leader, F_DUPFD_CLOEXEC, 0);
}

/* The kernel tells the process that is in front inside. */
void terminal_resize_to(const struct relay relays[RELAYS], const struct winsize *size) {
  if (relays[1].from >= 0) ioctl(relays[1].from, TIOCSWINSZ, size);
}

void terminal_restore(struct terminal *terminal) {
  /* Behind the shell it is the shell's, and setting its modes would stop us there. */
  if (terminal->raw && tcgetpgrp(0) == getpgrp()) tcsetattr(0, TCSADRAIN, &terminal->saved);
  terminal->raw = false;
}

static void restore(void *terminal) {
  terminal_restore(terminal);
}

void terminal_keep(struct terminal *terminal, int channel, struct relay relays[RELAYS]) {
  terminal->master = receive_descriptor(channel);
  if (terminal->master < 0) return; /* the command's process has said why */
  if (tcgetattr(0, &terminal->saved) == 0) {
    struct termios through = terminal->saved;
    cfmakeraw(&through);
    before_giving_up(LAST_TERMINAL, restore, terminal);
    terminal->raw = tcsetattr(0, TCSADRAIN, &through) == 0;
  }
  fcntl(terminal->master, F_SETFL, O_NONBLOCK);
  /* Two descriptors of it, so that the end of one direction does not end the other. */
  relays[0] = (struct relay){.from = 0, .to = fcntl(terminal->master, F_DUPFD_CLOEXEC, 0), .command_end = -1};
  relays[1] = (struct relay){.from = fcntl(terminal->master, F_DUPFD_CLOEXEC, 0), .to = 1, .command_end = -1};
}

/* The kernel tells the process that is in front inside. */
void terminal_resize(const struct terminal *terminal) {
  struct winsize size;
  if (terminal->master >= 0 && ioctl(0, TIOCGWINSZ, &size) == 0) ioctl(terminal->master, TIOCSWINSZ, &size);
}

/*
 * The key that stops a job. The command leads a session of its own, whose group the kernel takes for orphaned and does
 * not stop by a key: we stop it, and ourselves, for the shell that started us. What reads key by key (an editor, a
 * shell's prompt) or has put another group in front (a shell inside) gets the key as it is.
 */
bool terminal_stops(const struct terminal *terminal, struct relay *input, pid_t command) {
  struct termios modes;
  pid_t front = 0;
  if (terminal->master < 0 || !terminal->raw || input->start >= input->stop) return false;
  if (tcgetattr(terminal->master, &modes) != 0 || !(modes.c_lflag & ISIG) || !(modes.c_lflag & ICANON)) return false;
  char key = (char)modes.c_cc[VSUSP];
  if (key == _POSIX_VDISABLE || ioctl(terminal->master, TIOCGPGRP, &front) != 0 || front != command) return false;
  char *found = memchr(input->bytes + input->start, key, input->stop - input->start);
  if (!found) return false;
  /* As a terminal does: what was typed before the key is dropped with it. */
  input->start = (size_t)(found - input->bytes) + 1;
  return true;
}

void terminal_again(struct terminal *terminal) {
  if (terminal->master < 0 || terminal->raw) return;
  struct termios through;
  if (tcgetattr(0, &terminal->saved) != 0) return;
  through = terminal->saved;
  cfmakeraw(&through);
  before_giving_up(LAST_TERMINAL, restore, terminal);
  terminal->raw = tcsetattr(0, TCSADRAIN, &through) == 0;
  terminal_resize(terminal);
}
