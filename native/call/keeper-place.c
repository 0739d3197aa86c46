#include "keeper-place.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of later kernels. */
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#define PR_SCHED_CORE_GET 0
#endif
#ifndef PR_SCHED_CORE_SCOPE_THREAD
#define PR_SCHED_CORE_SCOPE_THREAD 0
#endif
#ifndef PR_GET_IO_FLUSHER
#define PR_GET_IO_FLUSHER 58
#endif
#ifndef PR_SPEC_L1D_FLUSH
#define PR_SPEC_L1D_FLUSH 2
#endif
#ifndef PR_SME_GET_VL
#define PR_SME_GET_VL 64
#endif
#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif
#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68
#endif

bool keeper_key(const char *program, char key[KEY_SIZE]) {
  static const char *const directories[] = {".", "../native"};
  char path[PATH_MAX], text[PATH_MAX + 64];
  const char *slash = strrchr(program, '/');
  if (!slash || snprintf(path, sizeof path, "%.*s", (int)(slash - program), program) >= (int)sizeof path ||
      !realpath(path, text))
    return false;
  size_t size = strlen(text), own = size;
  for (size_t i = 0; i < 2; i++) {
    struct stat status;
    if (snprintf(path, sizeof path, "%.*s/%s", (int)own, text, directories[i]) >= (int)sizeof path ||
        stat(path, &status) != 0)
      return false;
    size += (size_t)snprintf(text + size, sizeof text - size, " %lld",
                             status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec);
  }
  snprintf(key, KEY_SIZE, "%016llx", (unsigned long long)hash(text, size));
  return true;
}

/* Not through a link, and no one else's: what is said there is run, and has the environment in it. */
int open_own(int above, const char *name, bool make) {
  struct stat status;
  if (make && mkdirat(above, name, 0700) != 0 && errno != EEXIST) return -1;
  int directory = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory >= 0 && fstat(directory, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
    return directory;
  if (directory >= 0) close(directory);
  return -1;
}

bool read_keeper_word(int socket, char word[WORD_SIZE]) {
  static const char before[] = "/memfd:", behind[] = " (deleted)";
  enum { START = sizeof before - 1, LENGTH = WORD_SIZE - 1 };
  char path[64], target[START + WORD_SIZE + sizeof behind];
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer.pid, WORD_DESCRIPTOR);
  const ssize_t length = readlink(path, target, sizeof target);
  if (length != START + LENGTH + sizeof behind - 1 || memcmp(target, before, START) != 0) return false;
  memcpy(word, target + START, LENGTH);
  word[LENGTH] = 0;
  return true;
}

/* Of more nodes than any kernel knows of. */
enum { NODE_WORDS = 1024 / 64 };

/* Which memory it takes, and where it is put: numactl. */
static uint64_t memory_policy(void) {
  struct {
    uint64_t nodes[NODE_WORDS], mode;
  } policy = {0};
  int mode = 0;
  policy.mode = syscall(SYS_get_mempolicy, &mode, policy.nodes, sizeof policy.nodes * 8, NULL, 0) == 0 ? (uint64_t)mode : ~0ULL;
  return hash((const char *)&policy, sizeof policy);
}

/* How fast a processor may be, and what is inherited of how it is scheduled; all else is to be seen. */
static uint64_t scheduling(void) {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t times[3];
    uint32_t least, most;
  } attributes = {0};
  uint64_t cookie = 0;
  syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0);
  prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 0, PR_SCHED_CORE_SCOPE_THREAD, &cookie);
  const uint64_t parts[] = {attributes.flags, attributes.least, attributes.most, cookie};
  return hash((const char *)parts, sizeof parts);
}

/* What a kernel does not know has the same answer for all. */
void own_traits(char text[TRAITS_SIZE]) {
  static const int asked[][2] = {{PR_GET_SECUREBITS},
                                 {PR_GET_TIMERSLACK},
                                 {PR_MCE_KILL_GET},
                                 {PR_GET_IO_FLUSHER},
                                 {PR_GET_MDWE},
                                 {PR_GET_MEMORY_MERGE},
                                 {PR_GET_SPECULATION_CTRL, PR_SPEC_L1D_FLUSH},
                                 {PR_SVE_GET_VL},
                                 {PR_SME_GET_VL}};
  int times = 0;
  prctl(PR_GET_TSC, &times, 0, 0, 0);
  int size = snprintf(text, TRAITS_SIZE, "%d %d %llx %llx %ld", personality(0xffffffff), times,
                      (unsigned long long)memory_policy(), (unsigned long long)scheduling(),
                      syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
    size += snprintf(text + size, (size_t)(TRAITS_SIZE - size), " %d", prctl(asked[i][0], asked[i][1], 0, 0, 0));
}
