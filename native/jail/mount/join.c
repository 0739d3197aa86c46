#include "mount/join.h"
#include "context.h"
#include "descriptor.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Of OP_OVERLAY, and of OP_CACHE but for LOWER; the process that has it mounted follows. */
enum { TARGET, LOWER, UPPER, WORK, FIRST_HOLDER };

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif

/* What is asked for, in whichever process. */
struct wanted {
  const char *target, *upper;
  uint32_t attributes;
};

bool is_shared(const struct operation *overlay) {
  return overlay->string_count > FIRST_HOLDER;
}

static bool is_overlay_of(const char *line, const char *upper) {
  char option[PATH_MAX];
  /* Of the whole, not of a part that is mounted once more, read-only. */
  if (!strstr(line, " / /") || !strstr(line, " - overlay ctx-")) return false;
  snprintf(option, sizeof option, ",upperdir=%s,", upper);
  return strstr(line, option) != NULL;
}

/* The number of the mount in that process's namespace; 0 where there is none. */
static uint64_t mount_number(int proc, pid_t holder, const char *upper) {
  char path[64];
  snprintf(path, sizeof path, "%d/mountinfo", (int)holder);
  int descriptor = openat(proc, path, O_RDONLY | O_CLOEXEC);
  FILE *mounts = descriptor < 0 ? NULL : fdopen(descriptor, "r");
  char *line = NULL;
  size_t size = 0;
  uint64_t number = 0;
  while (mounts && number == 0 && getline(&line, &size, mounts) >= 0)
    if (is_overlay_of(line, upper)) number = strtoull(line, NULL, 10);
  free(line);
  if (mounts) fclose(mounts);
  return number;
}

static bool is_of_own_users(int proc, pid_t holder) {
  char path[64];
  struct stat own, other;
  snprintf(path, sizeof path, "%d/ns/user", (int)holder);
  return fstatat(proc, "self/ns/user", &own, 0) == 0 && fstatat(proc, path, &other, 0) == 0 &&
         own.st_ino == other.st_ino;
}

/* In a process that ends with it: its namespaces are the holder's then. */
static int clone_in_place(int proc, pid_t holder, const struct wanted *wanted) {
  const uint64_t number = mount_number(proc, holder, wanted->upper);
  const int process = sys_pidfd_open(holder);
  const int users = is_of_own_users(proc, holder) ? 0 : CLONE_NEWUSER;
  if (number == 0 || process < 0 || setns(process, users | CLONE_NEWNS) != 0) return -1;
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                         .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  int found = sys_openat2(AT_FDCWD, wanted->target, &how);
  struct statx about;
  if (found < 0 || statx(found, "", AT_EMPTY_PATH, STATX_MNT_ID, &about) != 0 || about.stx_mnt_id != number) return -1;
  int tree = sys_open_tree(found, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  /* Whether it is read-only there is the holder's business. */
  struct mount_attr set = {.attr_set = wanted->attributes, .attr_clr = MOUNT_ATTR_RDONLY};
  if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &set) != 0) return -1;
  return tree;
}

/* Whatever goes wrong in the other process, it is as if that holder had none. */
static int clone_from(int proc, pid_t holder, const struct wanted *wanted) {
  int channel[2];
  if (mount_number(proc, holder, wanted->upper) == 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
    return -1;
  pid_t pid = fork();
  if (pid == 0) {
    int tree = clone_in_place(proc, holder, wanted);
    if (tree >= 0) send_descriptor(channel[1], tree);
    _exit(0);
  }
  close(channel[1]);
  int tree = pid < 0 ? -1 : receive_descriptor(channel[0]);
  close(channel[0]);
  if (pid > 0) waitpid(pid, NULL, 0);
  return tree;
}

static int clone_of(int proc, const struct wanted *wanted, char *const holders[]) {
  int tree = -1;
  for (; tree < 0 && *holders; holders++) tree = clone_from(proc, (pid_t)strtol(*holders, NULL, 10), wanted);
  return tree;
}

static struct wanted wanted_of(const struct operation *overlay) {
  return (struct wanted){.target = overlay->strings[TARGET],
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
    const struct wanted wanted = wanted_of(overlay);
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
  const struct wanted wanted = {
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
