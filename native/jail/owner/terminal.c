/*
 * A terminal of the jail's own. The person's terminal device never enters the jail: nothing can be typed into it, its
 * modes cannot be changed, and job control works inside, since the command has a controlling terminal. The pair is
 * opened by the command's own user in the jail's own devpts; the owner copies between it and the person's.
 */
#include "owner/terminal.h"
#include "descriptor.h"
#include "jail.h"
#include "terminal-wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

void terminal_find_carrier(struct terminal *terminal) {
  int type;
  socklen_t size = sizeof type;
  terminal->carrier = -1;
  if (getsockopt(FD_TERMINAL, SOL_SOCKET, SO_TYPE, &type, &size) == 0) {
    terminal->carrier = fcntl(FD_TERMINAL, F_DUPFD_CLOEXEC, FD_FIRST_OTHER);
    if (terminal->carrier < 0) fail("keeping the socket of the terminal");
  }
  close(FD_TERMINAL);
}

void terminal_decide(struct terminal *terminal) {
  terminal->wanted = isatty(0) && isatty(1);
  terminal->person.source = terminal->carrier < 0 && isatty(0);
  terminal->modes = !person_terminal_is_behind(&terminal->person);
  /* Nothing here may read a terminal of another session: the kernel would not stop us in the background. */
  if (terminal->carrier >= 0 && !terminal->wanted) fail_with(ENOTTY, "stdin and stdout are not the terminal carried");
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
  if (!terminal->asked && terminal->modes && tcgetattr(0, &modes) == 0) tcsetattr(slave, TCSANOW, &modes);
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
  person_terminal_restore(&terminal->person);
}

/* How long it is waited for once nobody waits for us. */
enum { CARRIER_MILLISECONDS = 500 };

/* Until it has answered, or ended: its terminal may take nothing for long. */
static void await_carrier(const struct terminal *terminal) {
  char answer;
  struct pollfd watched[] = {{.fd = terminal->carrier, .events = POLLIN}, {.fd = FD_LIFELINE, .events = POLLIN}};
  for (int ready; (ready = poll(watched, 2, watched[1].fd < 0 ? CARRIER_MILLISECONDS : -1)) != 0;) {
    if (ready > 0 && watched[0].revents) break;
    if (ready > 0) watched[1].fd = -1;
    if (ready < 0 && errno != EINTR) return;
  }
  recv(terminal->carrier, &answer, 1, MSG_DONTWAIT);
}

/* It alone has it from here on: the end of the carrier hangs the command's terminal up. */
static void give_to_carrier(struct terminal *terminal, pid_t command) {
  const int32_t leader = command;
  char packet[1 + sizeof leader] = {TERMINAL_OF_COMMAND};
  memcpy(packet + 1, &leader, sizeof leader);
  terminal->carried = hand_over(terminal->carrier, packet, sizeof packet, terminal->person.master);
  close(terminal->person.master);
  terminal->person.master = -1;
  if (terminal->carried) await_carrier(terminal);
}

static void end(struct terminal *terminal, char kind) {
  terminal_restore(terminal);
  if (terminal->carried && send(terminal->carrier, &kind, 1, MSG_NOSIGNAL) == 1) await_carrier(terminal);
  terminal->carried = false;
}

void terminal_end(struct terminal *terminal) {
  end(terminal, TERMINAL_ENDS);
}

static void give_terminal_up(void *terminal) {
  end(terminal, TERMINAL_GIVEN_UP);
}

void terminal_keep(struct terminal *terminal, int channel, pid_t command, struct relay relays[RELAYS]) {
  terminal->person.master = receive_descriptor(channel);
  if (terminal->person.master < 0) return; /* the command's process has said why */
  before_giving_up(LAST_TERMINAL, give_terminal_up, terminal);
  if (terminal->carrier >= 0) return give_to_carrier(terminal, command);
  person_terminal_look(&terminal->person);
  person_terminal_copy(&terminal->person, relays);
}

void terminal_unread(const struct terminal *terminal) {
  const char unread = TERMINAL_UNREAD;
  if (terminal->carried) send(terminal->carrier, &unread, 1, MSG_NOSIGNAL);
}

void terminal_resize(const struct terminal *terminal) {
  person_terminal_resize(&terminal->person);
}
