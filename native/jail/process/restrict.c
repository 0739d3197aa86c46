/*
 * What the kernel refuses the command from within: Landlock for files, a seccomp filter for system calls. Both are
 * applied by the process that becomes the command, after it has taken its identity, and last for good.
 */
#include "process/restrict.h"
#include "descriptor.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* As the kernel of ABI 6 and later reads it; an older one is given the size it knows. */
struct ruleset_attributes {
  uint64_t files, network, scopes;
};

struct __attribute__((packed)) path_rule {
  uint64_t access;
  int32_t parent;
};

/* File rights each ABI knows; later ones are left out of the question on an older kernel. */
static uint64_t file_rights(long abi) {
  static const int known[] = {0, 13, 14, 15, 15, 16};
  int bits = known[abi < 5 ? abi : 5];
  return ((uint64_t)1 << bits) - 1;
}

void keep_page_for_filters(void) {
  struct sock_filter everything = {.code = BPF_RET | BPF_K, .k = ~0U};
  struct sock_fprog program = {.len = 1, .filter = &everything};
  int holder = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  /* Where it cannot be had, filters only cost more. */
  if (holder >= 0 && setsockopt(holder, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) close(holder);
}

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* number: the file rights to handle; flags: the scopes. */
void landlock_begin(struct landlock *landlock, uint64_t rights, uint32_t scopes) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* version */);
  if (abi < 1) fail("Landlock");
  landlock->handled = rights & file_rights(abi);
  struct ruleset_attributes attributes = {.files = landlock->handled, .scopes = abi >= 6 ? scopes : 0};
  size_t size = abi >= 6 ? sizeof attributes : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
  landlock->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
  if (landlock->ruleset < 0) fail("Landlock");
}

static long add_rule(const struct landlock *landlock, const struct path_rule *rule) {
  return syscall(SYS_landlock_add_rule, landlock->ruleset, 1 /* path beneath */, rule, 0);
}

/*
 * A path that is not there needs no right. Rights that only directories have are refused for a file, and not asked for
 * again.
 */
void landlock_allow(const struct landlock *landlock, const char *path, uint64_t rights) {
  enum { FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15 };
  int parent = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (parent < 0 && errno == ENOENT) return;
  if (parent < 0) fail(path);
  struct path_rule rule = {.access = rights & landlock->handled, .parent = parent};
  if (add_rule(landlock, &rule) != 0) {
    rule.access &= FILE_RIGHTS;
    if (errno != EINVAL || add_rule(landlock, &rule) != 0) fail(path);
  }
  close(parent);
}

void landlock_enter(const struct landlock *landlock) {
  if (landlock->ruleset < 0) return;
  if (syscall(SYS_landlock_restrict_self, landlock->ruleset, 0) != 0) fail("Landlock");
  close(landlock->ruleset);
}

static int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static struct sock_fprog decode(const char *text) {
  size_t length = strlen(text);
  struct sock_fprog program = {.len = (unsigned short)(length / (2 * sizeof(struct sock_filter)))};
  if (length == 0 || length % (2 * sizeof(struct sock_filter)) != 0 ||
      length / (2 * sizeof(struct sock_filter)) > BPF_MAXINSNS)
    fail_with(EINVAL, "the filter has the wrong length");
  unsigned char *bytes = malloc(length / 2);
  if (!bytes) fail("the filter");
  for (size_t i = 0; i < length; i += 2) {
    int high = hexadecimal(text[i]), low = hexadecimal(text[i + 1]);
    if (high < 0 || low < 0) fail_with(EINVAL, "the filter is not hexadecimal");
    bytes[i / 2] = (unsigned char)(high << 4 | low);
  }
  program.filter = (struct sock_filter *)bytes;
  return program;
}

void filter_system_calls(const char *text, int channel) {
  struct sock_fprog program = decode(text);
  /* A call that is being answered is not begun again because of a signal, where the kernel can do that (since 5.19). */
  const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  int listener =
      (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
  if (listener < 0 && errno == EINVAL) listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (listener < 0) fail("seccomp");
  /* The owner gets the listener: it alone can answer and count what is refused. */
  send_descriptor(channel, listener);
  close(listener);
}

static long long milliseconds_now(void) {
  struct timespec now;
  return clock_gettime(CLOCK_REALTIME, &now) == 0 ? (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 : 0;
}

static void count_refusal(struct refusals *refusals, int number) {
  if (number < 0 || number >= MAX_SYSTEM_CALLS || refusals->of[number].count == UINT32_MAX) return;
  refusals->of[number].last = milliseconds_now();
  if (refusals->of[number].count++ == 0) refusals->of[number].first = refusals->of[number].last;
}

/* Always EPERM, whatever the arguments: nothing is looked at that could change meanwhile. */
void refuse_call(int listener, const struct seccomp_notif *call, struct refusals *refusals) {
  if (refusals) count_refusal(refusals, call->data.nr);
  struct seccomp_notif_resp answer = {.id = call->id, .error = -EPERM};
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void report_refused_calls(const struct refusals *refusals) {
  for (int number = 0; number < MAX_SYSTEM_CALLS; number++)
    if (refusals->of[number].count)
      report("refused %d %u %lld %lld", number, refusals->of[number].count, refusals->of[number].first,
             refusals->of[number].last);
}
