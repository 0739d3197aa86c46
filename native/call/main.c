/*
 * call PROGRAM WORD...: what `ctx WORD...` runs where kept jails exist. Where one of this directory takes the request,
 * it is relayed there and its answer back: a start of Node is saved. Else Node runs PROGRAM, as if this had not been
 * here.
 *
 * call --keeper PROGRAM WORD...: the same; and where no kept jail takes it, a keeper may run it (keeper.h). Where there
 * is none yet this leaves one behind.
 *
 * call --node PROGRAM WORD...: no kept jail is asked; Node is started where there is room for it.
 *
 * A command (`exec`) gets the signals that arrive here. Every other verb is done at once, and a signal ends this
 * process as it would have ended Node.
 */
#include "guard.h"
#include "input.h"
#include "keeper.h"
#include "kept-jails.h"
#include "node.h"
#include "output.h"
#include "room.h"
#include "stop-here.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

extern char **environ;

struct call {
  char *payload;
  size_t size;
  bool terminal;
  bool command;
  bool hook;
  int exit_code;
};

/*
 * A harness lets a call through whose hook takes too long. The kept jail has its own, shorter time; this ends us, which
 * blocks.
 */
enum { HOOK_SECONDS = 20 };

static void append(struct call *call, const char *text) {
  size_t length = strlen(text) + 1;
  call->payload = realloc(call->payload, call->size + length);
  if (!call->payload) exit(70);
  memcpy(call->payload + call->size, text, length);
  call->size += length;
}

static struct winsize terminal_size(void) {
  struct winsize size = {.ws_row = 24, .ws_col = 80};
  ioctl(0, TIOCGWINSZ, &size);
  return size;
}

/*
 * The build that a Node started now would run: the times of the directory of PROGRAM and of ours beside it. Every build
 * renames its files into them. Their inodes tell installations apart whose times were all made the same.
 */
static void describe_build(struct call *call, const char *program) {
  static const char *const directories[] = {".", "../native"};
  char path[4096], text[128] = "";
  for (size_t i = 0, size = 0; i < 2; i++) {
    struct stat status;
    int length = (int)(strrchr(program, '/') - program);
    if (snprintf(path, sizeof path, "%.*s/%s", length, program, directories[i]) >= (int)sizeof path ||
        stat(path, &status) != 0)
      break;
    size += (size_t)snprintf(text + size, sizeof text - size, "%lld %llu ",
                             status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec,
                             (unsigned long long)status.st_ino);
  }
  append(call, text);
}

/* What stdin is, where that says what will be read: `n` nothing, `f` a file, whose bytes are there already. */
static const char *input_kind(void) {
  struct stat status;
  if (fstat(0, &status) != 0) return "";
  if (S_ISREG(status.st_mode)) return "f";
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3) ? "n" : "";
}

static bool describe(struct call *call, const char *program, int count, char **words) {
  char text[32], where[4096];
  if (!getcwd(where, sizeof where)) return false;
  append(call, where);
  call->terminal = isatty(0) && isatty(1);
  struct winsize size = terminal_size();
  snprintf(text, sizeof text, "%u %u", size.ws_row, size.ws_col);
  append(call, call->terminal ? text : "");
  snprintf(text, sizeof text, "%s%s%s%s", isatty(0) ? "0" : "", isatty(1) ? "1" : "", isatty(2) ? "2" : "",
           input_kind());
  append(call, text);
  describe_build(call, program);
  snprintf(text, sizeof text, "%d", count);
  append(call, text);
  for (int i = 0; i < count; i++) append(call, words[i]);
  for (char **variable = environ; *variable; variable++) append(call, *variable);
  return call->size < FRAME_MOST;
}

static int passed_signals(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&set, numbers[i]);
  sigprocmask(SIG_BLOCK, &set, NULL);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Readable while SIGTSTP waits to stop us; never read. */
static int stop_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTSTP);
  sigprocmask(SIG_BLOCK, &set, NULL);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

/*
 * The first asks the command to end, the second tells it, the third kills it: the kept jail does that, and says how it
 * ended. Where it says nothing of three, it is stopped or hangs, and the next one ends this process. So does the key at
 * a terminal that is raw, where it is a byte.
 */
enum { UNHEARD_MOST = 3 };

static bool is_ending(int number) {
  return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

/* Returns its number, 0 where there is none. */
static int pass_signal(int socket, int signals) {
  struct signalfd_siginfo info;
  if (read(signals, &info, sizeof info) != sizeof info) return 0;
  if (info.ssi_signo == SIGWINCH) {
    struct winsize size = terminal_size();
    unsigned char bytes[4] = {(unsigned char)size.ws_row, (unsigned char)(size.ws_row >> 8), (unsigned char)size.ws_col,
                              (unsigned char)(size.ws_col >> 8)};
    send_frame(socket, KIND_SIZE, bytes, sizeof bytes);
  } else if (info.ssi_signo != SIGCONT) {
    unsigned char number = (unsigned char)info.ssi_signo;
    send_frame(socket, KIND_SIGNAL, &number, 1);
  }
  return (int)info.ssi_signo;
}

static bool write_whole(int descriptor, const char *bytes, size_t size) {
  struct pollfd room = {.fd = descriptor, .events = POLLOUT};
  while (size > 0) {
    ssize_t written = write(descriptor, bytes, size);
    if (written < 0 && errno == EAGAIN)
      poll(&room, 1, -1);
    else if (written < 0 && errno != EINTR)
      return false;
    if (written < 0) continue;
    bytes += written;
    size -= (size_t)written;
  }
  return true;
}

enum { WATCH_JAIL, WATCH_SIGNALS, WATCH_STOPS, WATCH_INPUT, WATCH_ANSWER, WATCH_OUTPUT, WATCHED };

/*
 * One question at a time on a terminal, so that what is typed answers what is shown: a lock on its device, as Node
 * takes it.
 */
struct question {
  struct frame text;
  int lock;
  bool waits;
};
enum { TURN_MILLISECONDS = 100 };

static void hold_question(struct question *question, struct frame *frame) {
  struct frame room = question->text;
  question->text = *frame;
  *frame = room;
  /* Opened anew: a lock is of an open file, and others have stderr open with us. /dev/tty is one for all terminals. */
  question->lock = open("/proc/self/fd/2", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  question->waits = question->lock >= 0;
}

/* The terminal itself, not stdin: that is the command's. What was typed before the question is not an answer to it. */
static void ask(struct question *question, struct pollfd *terminal) {
  if (flock(question->lock, LOCK_EX | LOCK_NB) != 0) return;
  question->waits = false;
  terminal->fd = open("/dev/tty", O_RDONLY | O_CLOEXEC);
  if (terminal->fd >= 0) tcflush(terminal->fd, TCIFLUSH);
  write_whole(2, question->text.payload, question->text.size);
}

static void stop_asking(struct question *question, struct pollfd *terminal) {
  if (terminal->fd >= 0) close(terminal->fd);
  terminal->fd = -1;
  if (question->lock >= 0) close(question->lock);
  question->lock = -1;
  question->waits = false;
}

/* The other side of the command's terminal is the kept jail's, whom the socket leads to. */
static struct person_terminal *raw_terminal(int socket) {
  struct person_terminal *person = share_person_terminal((struct person_terminal){.master = socket, .source = true});
  if (!person) return NULL;
  start_guard(person);
  person_terminal_look(person);
  return person;
}

/* False where the kept jail does not take it. */
static bool converse(int socket, struct call *call) {
  static struct frame frame;
  static struct question question = {.lock = -1};
  static struct input input;
  static char line[INPUT_MOST];
  if (!send_frame(socket, KIND_REQUEST, call->payload, call->size)) return false;
  int signals = call->command ? passed_signals() : -1;
  struct output output = {.left = 0};
  bool answered = false, unwritten = false;
  struct person_terminal *person = NULL; /* raw from when on the command reads it */
  int unheard = 0, ended_by = 0;
  struct pollfd watched[WATCHED] = {
      [WATCH_JAIL] = {.fd = socket, .events = POLLIN},
      [WATCH_SIGNALS] = {.fd = signals, .events = POLLIN},
      [WATCH_STOPS] = {.fd = call->command && call->terminal ? stop_signals() : -1, .events = POLLIN},
      [WATCH_INPUT] = {.fd = -1, .events = POLLIN},
      [WATCH_ANSWER] = {.fd = -1, .events = POLLIN},
  };
  call->exit_code = 70; /* where the kept jail ends in the middle */
  while (!unwritten) {
    if (question.waits) ask(&question, &watched[WATCH_ANSWER]);
    const bool is_behind = person && person_terminal_look(person);
    const bool reads = (input.wanted || person) && !is_behind && !input.ended && input.size < sizeof input.bytes;
    watched[WATCH_INPUT].fd = reads ? 0 : -1;
    watched[WATCH_JAIL].fd = output.left > 0 ? -1 : socket;
    watched[WATCH_OUTPUT] = output_wants(&output);
    const int patience = question.waits ? TURN_MILLISECONDS : is_behind ? PERSON_LOOK_MILLISECONDS : -1;
    if (poll(watched, WATCHED, patience) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (watched[WATCH_SIGNALS].revents) {
      const int number = pass_signal(socket, signals);
      if (number == SIGCONT && person) person_terminal_continued(person);
      if (is_ending(number) && unheard++ == UNHEARD_MOST) ended_by = number;
    }
    if (watched[WATCH_STOPS].revents) {
      if (person) person_terminal_restore(person);
      stop_here();
    }
    if (watched[WATCH_INPUT].revents) {
      if (input_take(&input, person) && unheard++ == UNHEARD_MOST) ended_by = SIGINT;
      input_send(&input, socket);
    }
    if (ended_by) break;
    if (watched[WATCH_ANSWER].fd >= 0 && watched[WATCH_ANSWER].revents) {
      ssize_t got = read(watched[WATCH_ANSWER].fd, line, sizeof line);
      send_frame(socket, KIND_ANSWER, line, got > 0 ? (size_t)got : 0); /* no line is not a yes */
      stop_asking(&question, &watched[WATCH_ANSWER]);
    }
    if (watched[WATCH_OUTPUT].revents) unwritten = !output_write(&output);
    if (!watched[WATCH_JAIL].revents) continue;
    if (!receive_frame(socket, &frame, FRAME_MOST)) break;
    if (frame.kind == KIND_REFUSED) {
      write_whole(2, frame.payload, frame.size);
      return false;
    }
    answered = true;
    unheard = 0;
    stop_asking(&question, &watched[WATCH_ANSWER]);
    if (frame.kind == KIND_QUESTION) {
      hold_question(&question, &frame);
    } else if (frame.kind == KIND_MORE) {
      input.wanted = true;
      input_send(&input, socket);
      if (!person && call->terminal) person = raw_terminal(socket);
    } else if (frame.kind == KIND_EXIT) {
      call->exit_code = frame.size > 0 ? (unsigned char)frame.payload[0] : 70;
      break;
    } else {
      output = (struct output){
          .stream = frame.kind == KIND_ERROR ? 2 : 1, .bytes = frame.payload, .left = frame.size};
      unwritten = !output_write(&output);
    }
  }
  if (unwritten) {
    /*
     * Where no one reads any more a signal has ended us. The kept jail ends the command, as it would have ended itself.
     */
    fprintf(stderr, "ctx: print: write failed: %s\n", strerror(errno));
    call->exit_code = call->hook ? 2 : 1;
  }
  if (person) person_terminal_restore(person);
  end_guard();
  if (ended_by) {
    if (output.left == 0) fprintf(stderr, "ctx: the kept jail does not answer\n  try: ctx ps lists what keeps it, ctx stop ends it\n");
    call->exit_code = 128 + ended_by;
    return true; /* it may still run the command */
  }
  if (call->exit_code == 70 && answered) fprintf(stderr, "ctx: the kept jail ended before it answered\n  try: see with ctx diff what the command did, then run it again\n");
  return answered;
}

static bool use(int socket, void *with) {
  return converse(socket, with);
}

/* Kept jails take no other verbs. */
static bool is_relayed(const char *verb) {
  static const char *const verbs[] = {"exec", "jail", "hook", "why", "approvals"};
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(verb, verbs[i]) == 0) return true;
  return false;
}

/* A harness goes on after a hook that ends by anything but 2, which is what Node would have ended with here. */
static int ended(const struct call *call, bool hook) {
  return hook && call->exit_code == 70 ? 2 : call->exit_code;
}

/* As Node does at its start: what is opened here would be taken for the caller's stream otherwise. */
static void fill_closed_streams(void) {
  for (int stream = 0; stream < 3; stream++)
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) _exit(70);
}

int main(int argc, char **argv) {
  struct call call = {0};
  umask(umask(077) & 077); /* as base/own-umask: what is made for the store can be opened again */
  fill_closed_streams();
  sigset_t before;
  sigprocmask(SIG_SETMASK, NULL, &before);
  const char *mode = argc > 1 ? argv[1] : "";
  const bool keeper = strcmp(mode, "--keeper") == 0;
  const bool asks = strcmp(mode, "--node") != 0;
  if (keeper || !asks) {
    argc--;
    argv++;
  }
  if (argc < 2 || !strchr(argv[1], '/')) return 2;
  const char *verb = argc > 2 ? argv[2] : "";
  call.command = strcmp(verb, "exec") == 0 || strcmp(verb, "jail") == 0;
  const bool hook = strcmp(verb, "hook") == 0;
  call.hook = hook;
  /* A caller may have set one before it became this (`perl -e 'alarm 60; exec @ARGV' ctx exec ...`): Node gets that. */
  const unsigned callers_alarm = hook ? alarm(HOOK_SECONDS) : 0;
  if (asks && is_relayed(verb) && describe(&call, argv[1], argc - 2, argv + 2) && each_kept_jail(use, &call))
    return ended(&call, hook);
  sigprocmask(SIG_SETMASK, &before, NULL);
  enum keeper answer = keeper ? ask_keeper(argc - 1, argv + 1, &call.exit_code) : KEEPER_REFUSED;
  if (answer == KEEPER_ANSWERED) return ended(&call, hook);
  if (hook) alarm(callers_alarm);
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (!has_room_for_node()) return 69;
  if (answer == KEEPER_ABSENT) leave_keeper(argv[1]);
  char **words = calloc((size_t)argc + 1, sizeof *words);
  if (!words) return 70;
  words[0] = "node";
  memcpy(&words[1], &argv[1], (size_t)argc * sizeof *words);
  start_node(words);
  fprintf(stderr, "ctx: node cannot be started: %s\n", strerror(errno));
  return 69;
}
