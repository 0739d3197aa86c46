#include "carry.h"
#include "guard.h"
#include "handover.h"
#include "person-terminal.h"
#include "terminal-wire.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

/* The jail of a call that was killed ends within this, or is not waited for. */
enum { END_MILLISECONDS = 2000, TYPED_BYTES = 4096 };

static struct {
  int channel;
  struct person_terminal *person; /* shared with the guard; null before the command has its terminal */
  pid_t command;
  int typed, typed_to;
} carry = {.channel = -1, .typed = -1, .typed_to = -1};

static struct relay relays[RELAYS];

bool carry_suits(const char *verb, bool *carries) {
  struct termios modes;
  struct stat input, output;
  *carries = strcmp(verb, "exec") == 0 && isatty(0);
  /* What writes in another session is not stopped in the background. */
  for (int stream = 1; stream < 3; stream++)
    if (tcgetattr(stream, &modes) == 0 && modes.c_lflag & TOSTOP) return false;
  if (!*carries) return true;
  return isatty(1) && fstat(0, &input) == 0 && fstat(1, &output) == 0 && input.st_rdev == output.st_rdev &&
         tcgetpgrp(0) == getpgrp();
}

int carry_begin(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  carry.channel = ends[0];
  for (int i = 0; i < RELAYS; i++) relay_clear(&relays[i]);
  return ends[1];
}

static void answer(char kind) {
  send(carry.channel, &kind, 1, MSG_NOSIGNAL);
}

static void take_command(int master, pid_t command) {
  struct person_terminal *person =
      carry.person ? NULL : share_person_terminal((struct person_terminal){.master = master, .source = true});
  if (!person) {
    close(master); /* which hangs its terminal up */
    return;
  }
  int processes = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  relay_open_anew(processes, 1);
  if (processes >= 0) close(processes);
  carry.person = person;
  carry.command = command;
  start_guard(person);
  person_terminal_look(person);
  person_terminal_copy(person, relays);
}

static void end_command(bool all_has_ended) {
  if (!carry.person) return;
  if (all_has_ended) relays_drain(relays, carry.channel);
  relays_stop(relays);
  person_terminal_restore(carry.person);
  end_guard();
  close(carry.person->master);
  munmap(carry.person, sizeof *carry.person);
  carry.person = NULL;
}

static void stop_asking(void) {
  if (carry.typed >= 0) close(carry.typed);
  if (carry.typed_to >= 0) close(carry.typed_to);
  carry.typed = carry.typed_to = -1;
}

/* What was typed before a question is not an answer to it, also what has no end of a line yet. */
static void forget_typed(void) {
  struct termios before, through;
  char bytes[TYPED_BYTES];
  if (tcgetattr(carry.typed, &before) != 0) return;
  through = before;
  cfmakeraw(&through);
  through.c_oflag = before.c_oflag;
  if (tcsetattr(carry.typed, TCSADRAIN, &through) != 0) return;
  while (read(carry.typed, bytes, sizeof bytes) > 0)
    ;
  tcsetattr(carry.typed, TCSADRAIN, &before);
}

/* The terminal itself, not stdin: that is the command's. */
static void ask(int to) {
  stop_asking();
  carry.typed_to = to;
  carry.typed = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (carry.typed >= 0)
    forget_typed();
  else
    stop_asking(); /* no line is not a yes */
  answer(TERMINAL_TYPED);
}

static void pass_typed(void) {
  char bytes[TYPED_BYTES];
  const ssize_t got = read(carry.typed, bytes, sizeof bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0 || send(carry.typed_to, bytes, (size_t)got, MSG_NOSIGNAL) != got) stop_asking();
}

static void take_word(void) {
  char packet[1 + sizeof(int32_t)];
  int32_t command;
  int descriptor;
  const ssize_t size = receive_with_descriptor(carry.channel, packet, sizeof packet, &descriptor);
  if (size < 0 && errno == EINTR) return;
  if (size == sizeof packet && *packet == TERMINAL_OF_COMMAND && descriptor >= 0) {
    memcpy(&command, packet + 1, sizeof command);
    take_command(descriptor, command);
    return answer(TERMINAL_OF_COMMAND);
  }
  if (size == 1 && *packet == TERMINAL_TYPED && descriptor >= 0) return ask(descriptor);
  if (descriptor >= 0) close(descriptor);
  if (size == 1 && *packet == TERMINAL_UNREAD) {
    if (relays[0].from >= 0) relay_end(&relays[0], 0);
    return;
  }
  if (size == 1 && (*packet == TERMINAL_ENDS || *packet == TERMINAL_GIVEN_UP)) {
    end_command(*packet == TERMINAL_ENDS);
    return answer(*packet);
  }
  close(carry.channel);
  carry.channel = -1;
}

int carry_list(struct pollfd watched[CARRY_WATCHED]) {
  watched[CARRY_CHANNEL] = (struct pollfd){.fd = carry.channel, .events = POLLIN};
  const bool is_behind = carry.person && person_terminal_look(carry.person);
  watched[CARRY_INPUT] = carry.person ? person_terminal_wants(&relays[0], is_behind) : (struct pollfd){.fd = -1};
  watched[CARRY_OUTPUT] = carry.person ? relay_wants(&relays[1]) : (struct pollfd){.fd = -1};
  watched[CARRY_TYPED] = (struct pollfd){.fd = carry.typed, .events = POLLIN};
  watched[CARRY_TYPED_TO] = (struct pollfd){.fd = carry.typed_to, .events = POLLIN};
  return is_behind ? PERSON_LOOK_MILLISECONDS : -1;
}

bool carry_serve(const struct pollfd watched[CARRY_WATCHED]) {
  bool stops = false;
  if (watched[CARRY_TYPED_TO].revents)
    stop_asking(); /* nobody waits for an answer any more */
  else if (watched[CARRY_TYPED].revents)
    pass_typed();
  if (watched[CARRY_INPUT].revents) {
    person_terminal_move(carry.person, relays);
    stops = person_terminal_stops(carry.person, &relays[0], carry.command);
  }
  if (watched[CARRY_OUTPUT].revents) relay_move(relays, 1);
  if (watched[CARRY_CHANNEL].revents) take_word();
  return stops;
}

void carry_resize(void) {
  if (carry.person) person_terminal_resize(carry.person);
}

void carry_restore(void) {
  if (carry.person) person_terminal_restore(carry.person);
}

void carry_continued(void) {
  if (carry.person) person_terminal_continued(carry.person);
}

static int64_t milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

void carry_finish(void) {
  struct pollfd watched[CARRY_WATCHED];
  const int64_t end = milliseconds_now() + END_MILLISECONDS;
  stop_asking();
  for (int64_t left; carry.person && carry.channel >= 0 && (left = end - milliseconds_now()) > 0;) {
    carry_list(watched);
    watched[CARRY_INPUT].fd = -1; /* what is typed now is for the shell */
    if (poll(watched, CARRY_WATCHED, (int)left) < 0 && errno != EINTR) break;
    carry_serve(watched);
  }
  if (!carry.person) return;
  person_terminal_restore(carry.person);
  end_guard();
}
