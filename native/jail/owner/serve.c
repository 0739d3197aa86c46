#include "owner/serve.h"
#include "context.h"
#include "descriptor.h"
#include "jail.h"
#include "mount/staging.h"
#include "owner/crowd.h"
#include "owner/held.h"
#include "owner/terminal.h"
#include "syscalls.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame {
  uint32_t id, kind;
  size_t size;
  char *payload;
};

static uint32_t number_at(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool read_whole(int from, void *into, size_t size) {
  for (char *at = into; size > 0;) {
    ssize_t got = read(from, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= (size_t)got;
  }
  return true;
}

static bool read_frame(int from, struct frame *frame) {
  unsigned char head[12];
  if (!read_whole(from, head, sizeof head)) return false;
  uint32_t length = number_at(head);
  errno = length > PLAN_MAX_BYTES ? E2BIG : EINVAL;
  if (length < 8 || length > PLAN_MAX_BYTES) return false;
  *frame = (struct frame){.id = number_at(head + 4), .kind = number_at(head + 8), .size = length - 8};
  frame->payload = malloc(frame->size + 1);
  if (!frame->payload) return false;
  if (read_whole(from, frame->payload, frame->size)) return true;
  free(frame->payload);
  return false;
}

char *read_jail_plan(size_t *size) {
  struct frame frame;
  if (!read_frame(FD_PLAN, &frame)) return NULL;
  *size = frame.size;
  if (frame.kind == REQUEST_JAIL) return frame.payload;
  free(frame.payload);
  errno = EINVAL;
  return NULL;
}

/*
 * Node reads a handle from a message of this form, and makes a socket of it. It takes for granted that the descriptor
 * does not block; the command's own end is another open file and does. False where it cannot be sent: other processes
 * of this user may have too many under way.
 */
static bool hand_stream_over(const struct jail_context *jail, uint32_t id, int stream, int descriptor) {
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  char message[128];
  if (!jail->kept) {
    uint32_t about[2] = {htole32(id), htole32((uint32_t)stream)};
    return hand_over(jail->requests, (const char *)about, sizeof about, descriptor);
  }
  int length =
      snprintf(message, sizeof message,
               "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Socket\",\"msg\":{\"id\":%u,\"stream\":%d}}\n", id, stream);
  return hand_over(FD_HANDOVER, message, (size_t)length, descriptor);
}

/*
 * Pipes, as a shell would make them; the other ends go to the process that asked. Of a terminal's, our ends are copied.
 */
static bool open_streams(struct jail_context *jail, struct relay relays[RELAYS], uint32_t id, enum request kind) {
  bool terminal = kind == REQUEST_COMMAND_WITH_TERMINAL;
  for (int i = 0; i < RELAYS; i++) relay_clear(&relays[i]);
  /* The owner's own stdin is that of the command which the jail was made for. */
  if (!jail->kept && kind == REQUEST_COMMAND) {
    relays[0].command_end = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (relays[0].command_end < 0) return false;
  }
  for (int i = kind == REQUEST_COMMAND ? 1 : 0; i < (terminal ? 2 : RELAYS); i++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    int *ours = !terminal ? &relays[i].command_end : i == 0 ? &relays[i].from : &relays[i].to;
    *ours = ends[i == 0 ? 0 : 1];
    relays[i].both_ours = terminal;
    if (terminal) fcntl(*ours, F_SETFL, O_NONBLOCK);
    const bool handed = hand_stream_over(jail, id, i, ends[i == 0 ? 1 : 0]);
    close(ends[i == 0 ? 1 : 0]);
    if (!handed) return false;
  }
  return true;
}

static struct command *find_command(struct jail_context *jail, uint32_t id) {
  for (uint32_t i = 0; i < jail->count; i++)
    if (jail->commands[i]->id == id) return jail->commands[i];
  return NULL;
}

static struct winsize size_at(const char *payload) {
  const unsigned char *bytes = (const unsigned char *)payload;
  return (struct winsize){.ws_row = (unsigned short)(bytes[0] | bytes[1] << 8),
                          .ws_col = (unsigned short)(bytes[2] | bytes[3] << 8)};
}

enum { SIZE_BYTES = 4 };

static void start(struct jail_context *jail, const struct frame *frame) {
  bool terminal = frame->kind == REQUEST_COMMAND_WITH_TERMINAL;
  size_t skipped = terminal ? SIZE_BYTES : 0;
  struct plan plan = {0};
  const char *problem = frame->size < skipped
                            ? "the size of the terminal is missing"
                            : plan_parse(frame->payload + skipped, frame->size - skipped, PLAN_COMMAND, &plan);
  struct command *command = calloc(1, sizeof *command);
  struct relay *relays = calloc(RELAYS, sizeof *relays);
  if (problem || frame->id == 0 || find_command(jail, frame->id)) {
    report_failure(EINVAL, problem ? problem : "a command needs a number of its own");
  } else if (jail->kept && !are_overlays_mounted(jail)) {
    report_failure(ENODEV, "the fork is not mounted");
  } else if (!command || !relays || jail->count == MOST_COMMANDS) {
    report_failure(EAGAIN, "too many commands at one time");
  } else if (!open_streams(jail, relays, frame->id, frame->kind)) {
    report_failure(errno, "making a pipe for the command");
    relays_keep(relays);
    relays_close(relays);
  } else {
    struct winsize size = terminal ? size_at(frame->payload) : (struct winsize){0};
    give_streams(jail->plan, &plan, relays);
    *command = (struct command){.id = frame->id, .relays = relays};
    terminal_ask(&jail->terminal, terminal ? &size : NULL);
    if (start_command(jail, &plan, command)) {
      if (command->calls && !calls_keep_plan(command->calls, frame->payload + skipped, frame->size - skipped))
        fail("keeping the command's plan");
      jail->commands[jail->count++] = command;
      command = NULL;
      relays = NULL;
      report("started");
      held_watch(&jail->held, &plan, frame->id);
    } else {
      relays_close(relays);
    }
  }
  free(relays);
  free(command);
  plan_free(&plan);
}

static void resize(struct jail_context *jail, const struct frame *frame) {
  struct command *command = find_command(jail, frame->id);
  if (!command || frame->size != SIZE_BYTES) return;
  struct winsize size = size_at(frame->payload);
  terminal_resize_to(command->relays, &size);
}

static void send_signal(struct jail_context *jail, const struct frame *frame) {
  struct command *command = find_command(jail, frame->id);
  if (command && frame->size == 4) kill(-command->pid, (int)number_at((const unsigned char *)frame->payload));
}

/* Init knows of all but our own children: commands, and what a command gave us for a child. */
static void release(struct jail_context *jail) {
  if (jail->count > 0 || is_anybody_left(&jail->ties) || count_threads() > 0) {
    report_failure(EBUSY, "processes are running in the fork");
    return;
  }
  release_kept_overlays(jail);
  report("released");
}

static void mount_again(struct jail_context *jail, const struct frame *frame) {
  struct plan overlays;
  const char *problem = plan_parse(frame->payload, frame->size, PLAN_OVERLAYS, &overlays);
  if (problem) {
    report_failure(EINVAL, problem);
  } else {
    if (mount_overlays_again(jail, &overlays)) report("mounted");
  }
  plan_free(&overlays);
}

/* Beside the command that a jail was made for: what would need its terminal, or take the fork from under it, is not. */
static bool may_ask(const struct jail_context *jail, uint32_t kind) {
  return jail->kept || kind == REQUEST_COMMAND || kind == REQUEST_COMMAND_WITH_INPUT || kind == REQUEST_SIGNAL;
}

bool take_request(struct jail_context *jail) {
  struct frame frame;
  if (!read_frame(jail->requests, &frame)) return false;
  report_about(frame.id);
  switch (may_ask(jail, frame.kind) ? frame.kind : 0) {
  case REQUEST_COMMAND:
  case REQUEST_COMMAND_WITH_INPUT:
  case REQUEST_COMMAND_WITH_TERMINAL:
    start(jail, &frame);
    break;
  case REQUEST_SIGNAL:
    send_signal(jail, &frame);
    break;
  case REQUEST_RESIZE:
    resize(jail, &frame);
    break;
  case REQUEST_RELEASE:
    release(jail);
    break;
  case REQUEST_OVERLAYS:
    mount_again(jail, &frame);
    break;
  default:
    report_failure(EINVAL, "an unknown request");
  }
  report_about(0);
  free(frame.payload);
  return true;
}

bool discard_answers(void) {
  char bytes[4096];
  return read(FD_HANDOVER, bytes, sizeof bytes) > 0;
}
