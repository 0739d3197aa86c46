/*
 * A keeper is started when the verb that found none has ended, so that the two do not share a processor. It holds
 * nothing of the caller's: no stream, directory, terminal or session. Of the environment it gets what Node itself reads
 * when it starts; every call brings its own.
 */
#include "keeper-place.h"
#include "keeper.h"
#include "node.h"
#include "store.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/*
 * A verb that takes longer is one that waits, and not one that computes. Between two starts that do not succeed there
 * is half a minute: each costs as much as a verb. Where few processes are allowed none is spent on it.
 */
enum { VERB_MILLISECONDS = 3000, RETRY_SECONDS = 30, ROOMY = 1000, LOCK = 3 };
enum { ROOMY_DISK = 64 << 20, ROOMY_INODES = 1000 };

static bool has_room(void) {
  struct rlimit processes;
  return getrlimit(RLIMIT_NPROC, &processes) != 0 || processes.rlim_cur >= ROOMY;
}

/* `ulimit -t` is of each process: a keeper would use its own up little by little, and end with what it runs just then. */
static bool has_time(void) {
  struct rlimit seconds;
  return getrlimit(RLIMIT_CPU, &seconds) != 0 || seconds.rlim_cur == RLIM_INFINITY;
}

/*
 * A person's process that is not to be seen is in another user namespace: one that hides itself, as sshd does, is
 * root's.
 */
static bool is_own(pid_t process) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d", (int)process);
  return stat(path, &status) == 0 && geteuid() != 0 && status.st_uid == geteuid();
}

/*
 * It would hold what its caller was put into for a while: a mount that cannot be unmounted, a network that does not go.
 * So only where every process above this one, as far as it can be seen, is in the same namespaces. `top` becomes the
 * highest of them that can be seen, by its descriptor.
 */
static bool is_at_home(int *top) {
  static const char *const kinds[] = {"mnt", "net", "pid", "user", "ipc", "uts", "cgroup", "time"};
  pid_t above = getppid();
  while (above > 0) {
    char path[64], line[512], *behind;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
      struct stat own, other;
      snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
      if (stat(path, &own) != 0) continue;
      snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)above, kinds[i]);
      const bool seen = stat(path, &other) == 0;
      if (seen ? own.st_ino != other.st_ino : is_own(above)) return false;
      if (!seen || i > 0) continue;
      if (*top >= 0) close(*top);
      *top = (int)syscall(SYS_pidfd_open, above, 0);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)above);
    FILE *stat_file = fopen(path, "re");
    const bool read = stat_file && fgets(line, sizeof line, stat_file);
    if (stat_file) fclose(stat_file);
    above = 0;
    if (read && (behind = strrchr(line, ')'))) sscanf(behind, ") %*c %d", &above);
  }
  return true;
}

/* -1 where they are not to be seen. */
static int count_filters(const char *process) {
  static const char name[] = "Seccomp_filters:";
  char path[64], line[512];
  int count = -1;
  snprintf(path, sizeof path, "/proc/%s/status", process);
  FILE *status = fopen(path, "re");
  while (status && count < 0 && fgets(line, sizeof line, status))
    if (strncmp(line, name, sizeof name - 1) == 0) count = atoi(line + sizeof name - 1);
  if (status) fclose(status);
  return count;
}

/*
 * Filters of system calls are counted in /proc and not shown: two processes with as many may have different ones. Those
 * of the first process are everyone's, so that who has no more than these has the same.
 */
static bool has_filters_of_all(void) {
  const int own = count_filters("self");
  return own == 0 || (own > 0 && own == count_filters("1"));
}

static int open_store(void) {
  char path[PATH_MAX];
  struct stat status;
  int store = store_path(path, "") ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (store >= 0 && fstat(store, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 022) == 0)
    return store;
  if (store >= 0) close(store);
  return -1;
}

/* Its first calls write a little there, and for a while: not where that is what somebody else will miss. */
static bool has_disk(int store) {
  struct statvfs disk;
  return fstatvfs(store, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize >= ROOMY_DISK &&
         (disk.f_files == 0 || disk.f_favail >= ROOMY_INODES);
}

static bool failed_lately(int lock) {
  struct stat status;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return fstat(lock, &status) == 0 && status.st_size > 0 && now.tv_sec - status.st_mtim.tv_sec >= 0 &&
         now.tv_sec - status.st_mtim.tv_sec < RETRY_SECONDS;
}

/* From the beginning, so that one that is about to start can be listed and ended. */
static bool say_who(int lock) {
  const time_t now = time(NULL);
  struct tm parts;
  char since[32];
  return gmtime_r(&now, &parts) && strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%S.000Z", &parts) > 0 &&
         dprintf(lock, "{\"pid\":%d,\"since\":\"%s\"}\n", (int)getpid(), since) > 0;
}

/* `ctx stop --all` ends what is there, and what was called before it leaves nothing behind afterwards. */
static bool was_stopped_since(int keepers, const struct timespec *called) {
  struct stat status;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (fstatat(keepers, "stopped", &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const struct timespec *stopped = &status.st_mtim;
  const bool is_before = stopped->tv_sec < called->tv_sec ||
                         (stopped->tv_sec == called->tv_sec && stopped->tv_nsec < called->tv_nsec);
  return !is_before && stopped->tv_sec <= now.tv_sec;
}

/* Held from now on, and by no one else; -1 where another starts or lives, or the last start did not succeed. */
static int take_lock(int place) {
  int lock = openat(place, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && !failed_lately(lock) && ftruncate(lock, 0) == 0 &&
      say_who(lock))
    return lock;
  return -1;
}

/* At its own place, and open in the program that is started. */
static bool hold_word(void) {
  unsigned char bytes[(WORD_SIZE - 1) / 2];
  char word[WORD_SIZE], *to = word;
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
  for (size_t i = 0; i < sizeof bytes; i++) to += sprintf(to, "%02x", bytes[i]);
  const int file = memfd_create(word, 0);
  return file == WORD_DESCRIPTOR || (file >= 0 && dup2(file, WORD_DESCRIPTOR) == WORD_DESCRIPTOR);
}

static void run_keeper(const char *program, const char *key, const struct timespec *called) {
  char script[PATH_MAX], store_text[PATH_MAX], traits[TRAITS_SIZE];
  int store = open_store();
  int keepers = store < 0 || !has_disk(store) ? -1 : open_own(store, "keeper", true);
  int place = keepers < 0 ? -1 : open_own(keepers, key, true);
  int lock = place < 0 ? -1 : take_lock(place);
  if (lock < 0 || !store_path(store_text, "") ||
      snprintf(script, sizeof script, "%.*s/keeper.cjs", (int)(strrchr(program, '/') - program), program) >=
          (int)sizeof script)
    return;
  /* After the lock says who this is: either this sees the stop, or the stop sees this. */
  if (was_stopped_since(keepers, called)) _exit(ftruncate(lock, 0) != 0);
  unlinkat(place, "socket", 0); /* of one that was killed */
  int complaints = openat(place, "error", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (complaints >= 0) dup2(complaints, 2);
  if (lock == LOCK ? fcntl(lock, F_SETFD, 0) != 0 : dup2(lock, LOCK) != LOCK) return;
  syscall(SYS_close_range, LOCK + 1, ~0U, 0);
  if (!hold_word()) return;
  own_traits(traits);
  /* Without threads of V8's, which would not be in a copy of the process; and a call ends before these MB are full. */
  char *words[] = {"node",           "--single-threaded", "--min-semi-space-size=4", script,
                   (char *)program,  store_text,          (char *)key,               traits,
                   NULL};
  start_node(words);
}

/* Of what decides how Node starts, the same as its callers have; and where it is found. */
static void keep_start_variables(void) {
  char **kept = environ;
  static const char *const beginnings[] = {"PATH=", "HOME=", "CTX_DATA=", "XDG_DATA_HOME=", "NODE_",   "UV_",
                                           "LD_",   "LC_",   "LANG",      "GLIBC_",         "MALLOC_", "OPENSSL",
                                           "SSL_",  "ICU_",  "TZ",        "CTX_BOOT="};
  for (char **variable = environ; *variable; variable++)
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
      if (strncmp(*variable, beginnings[i], strlen(beginnings[i])) == 0) {
        *kept++ = *variable;
        break;
      }
  *kept = NULL;
}

static _Noreturn void become_keeper(const char *program, const char *key, int verb, int top,
                                    const struct timespec *called) {
  enum { VERB = LOCK, TOP };
  struct pollfd end = {.fd = VERB, .events = POLLIN}, all = {.fd = TOP, .events = POLLIN};
  int null = open("/dev/null", O_RDWR | O_CLOEXEC), above = top < 0 ? null : top;
  if (null < 0 || chdir("/") != 0) _exit(0);
  for (int i = 0; i < 3; i++) dup2(null, i);
  /* First out of the way of each other's places. */
  verb = fcntl(verb, F_DUPFD_CLOEXEC, TOP + 1);
  above = fcntl(above, F_DUPFD_CLOEXEC, TOP + 1);
  if (dup2(verb, VERB) != VERB || dup2(above, TOP) != TOP) _exit(0);
  syscall(SYS_close_range, TOP + 1, ~0U, 0);
  poll(&end, 1, VERB_MILLISECONDS);
  /* All that it was a part of has ended with it: a single call from elsewhere, and no second one will come. */
  if (top >= 0 && poll(&all, 1, 0) != 0) _exit(0);
  close(VERB);
  close(TOP);
  keep_start_variables();
  run_keeper(program, key, called);
  _exit(0);
}

void leave_keeper(const char *program) {
  char key[KEY_SIZE], absolute[PATH_MAX];
  int verb = (int)syscall(SYS_pidfd_open, getpid(), 0), top = -1;
  struct timespec called;
  /* As the kernel dates files. */
  clock_gettime(CLOCK_REALTIME_COARSE, &called);
  const bool may = verb >= 0 && has_room() && has_time() && has_filters_of_all() && is_at_home(&top) &&
                   realpath(program, absolute) && keeper_key(absolute, key);
  /* Twice: what Node waits for are children that it started itself. */
  pid_t child = may ? fork() : -1;
  if (child == 0) {
    setsid();
    if (fork() == 0) become_keeper(absolute, key, verb, top, &called);
    _exit(0);
  }
  if (verb >= 0) close(verb);
  if (top >= 0) close(top);
  if (child > 0) waitpid(child, NULL, 0);
}
