#include "mount/join.h"
#include "context.h"
#include "descriptor.h"
#include "jail.h"
#include "live-mount.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Of OP_OVERLAY, and of OP_CACHE but for LOWER; the process that has it mounted follows. */
enum { TARGET, LOWER, UPPER, WORK, FIRST_HOLDER };

bool is_shared(const struct operation *overlay) {
  return overlay->string_count > FIRST_HOLDER;
}

static int clone_of(int proc, const struct live_mount *wanted, char *const holders[]) {
  int tree = -1;
  for (; tree < 0 && *holders; holders++) tree = clone_live_mount(proc, (pid_t)strtol(*holders, NULL, 10), wanted);
  return tree;
}

static struct live_mount wanted_of(const struct operation *overlay) {
  return (struct live_mount){.target = overlay->strings[TARGET],
                             .upper = overlay->strings[UPPER],
                             .attributes = overlay->flags & ~(PLAN_ATTR_OWNERS | (uint32_t)MOUNT_ATTR_IDMAP)};
}

static _Noreturn void fail_gone(const struct operation *overlay) {
  fail_with(ESRCH, overlay->strings[TARGET]);
}

void take_shared_overlays(struct jail_context *jail, const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++) {
    struct operation *overlay = &plan->operations[i];
    if ((overlay->code != OP_OVERLAY && overlay->code != OP_CACHE) || !is_shared(overlay)) continue;
    const struct live_mount wanted = wanted_of(overlay);
    overlay->taken = clone_of(jail->host.processes, &wanted, overlay->strings + FIRST_HOLDER);
    /* A cache that no one else has is mounted as ever. */
    if (overlay->taken < 0 && overlay->code == OP_OVERLAY) fail_gone(overlay);
  }
}

void close_taken(const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    const bool mounts = operation->code == OP_OVERLAY || operation->code == OP_CACHE;
    if (mounts && is_shared(operation) && operation->taken >= 0) close(operation->taken);
  }
}

enum { MOST_REQUEST = 16384, MOST_HOLDERS = 64 };

/* Target, upper directory, attributes and holders, each ended by NUL. */
static void answer_request(struct jail_context *jail, int channel, char *request, size_t size) {
  char *words[3 + MOST_HOLDERS + 1] = {0};
  size_t count = 0;
  for (char *at = request; at < request + size && count < 3 + MOST_HOLDERS; at += strlen(at) + 1) words[count++] = at;
  const struct live_mount wanted = {
      .target = words[0], .upper = words[1], .attributes = count > 2 ? (uint32_t)strtoul(words[2], NULL, 10) : 0};
  int tree = count > 3 ? clone_of(jail->host.processes, &wanted, words + 3) : -1;
  if (tree >= 0)
    send_descriptor(channel, tree);
  else if (send(channel, "", 1, MSG_NOSIGNAL) != 1)
    _exit(0);
  if (tree >= 0) close(tree);
}

static _Noreturn void be_taker(struct jail_context *jail, int channel) {
  static char request[MOST_REQUEST + 1];
  for (;;) {
    ssize_t size = recv(channel, request, MOST_REQUEST, 0);
    if (size <= 0) _exit(0);
    request[size] = 0;
    answer_request(jail, channel, request, (size_t)size);
  }
}

void leave_taker_outside(struct jail_context *jail) {
  int channel[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) fail("making a socket");
  pid_t owner = getpid(), pid = fork();
  if (pid < 0) fail("starting the process that joins others");
  if (pid == 0) {
    /* It ends with the owner, and holds nothing of it: neither the lock, nor what keeps the jail alive. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != owner || dup2(channel[1], 0) != 0 || dup2(jail->host.processes, 1) != 1) _exit(EXIT_FAILED);
    sys_close_range(2, ~0U, 0);
    jail->host.processes = 1;
    be_taker(jail, 0);
  }
  close(channel[1]);
  jail->taker = channel[0];
}

void end_taker(struct jail_context *jail) {
  if (jail->taker >= 0) close(jail->taker);
  jail->taker = -1;
}

int take_by_taker(struct jail_context *jail, const struct operation *overlay) {
  char request[MOST_REQUEST];
  size_t size = 0;
  char attributes[16];
  snprintf(attributes, sizeof attributes, "%u", wanted_of(overlay).attributes);
  const char *first[] = {overlay->strings[TARGET], overlay->strings[UPPER], attributes};
  for (size_t i = 0; i < 3 + (size_t)overlay->string_count - FIRST_HOLDER; i++) {
    const char *word = i < 3 ? first[i] : overlay->strings[FIRST_HOLDER + i - 3];
    size_t length = strlen(word) + 1;
    if (size + length > sizeof request) fail_with(E2BIG, "too many jails to join");
    memcpy(request + size, word, length);
    size += length;
  }
  if (send(jail->taker, request, size, MSG_NOSIGNAL) != (ssize_t)size) fail("asking the process that joins others");
  int tree = receive_descriptor(jail->taker);
  if (tree < 0) fail_gone(overlay);
  return tree;
}
