/* One failure record, that of the first to fail; names instead of numbers, since callers match names. */
#include "core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc 2.31 (Debian 11) has no strerrorname_np. */
#define NAMED(code)                                                                                                    \
  { code, #code }
static const struct {
  int code;
  const char *name;
} names[] = {
    NAMED(E2BIG),     NAMED(EACCES),       NAMED(EAGAIN),    NAMED(EBADF),
    NAMED(EBUSY),     NAMED(ECANCELED),    NAMED(EDQUOT),    NAMED(EEXIST),
    NAMED(EFAULT),    NAMED(EFBIG),        NAMED(EINTR),     NAMED(EINVAL),
    NAMED(EIO),       NAMED(EISDIR),       NAMED(ELOOP),     NAMED(EMFILE),
    NAMED(EMLINK),    NAMED(ENAMETOOLONG), NAMED(ENFILE),    NAMED(ENODATA),
    NAMED(ENODEV),    NAMED(ENOENT),       NAMED(ENOMEM),    NAMED(ENOSPC),
    NAMED(ENOSYS),    NAMED(ENOTDIR),      NAMED(ENOTEMPTY), {EOPNOTSUPP, "ENOTSUP"},
    NAMED(ENOTTY),    NAMED(ENXIO),        NAMED(EOVERFLOW), NAMED(EPERM),
    NAMED(EPIPE),     NAMED(ERANGE),       NAMED(EROFS),     NAMED(ESTALE),
    NAMED(ETIMEDOUT), NAMED(ETXTBSY),      NAMED(EXDEV),     NAMED(ENOTCONN),
    NAMED(EREMOTEIO), NAMED(ESRCH),        NAMED(ENOLCK),
};

const char *errno_name(int error) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == error) return names[i].name;
  return "EIO";
}

static volatile int temporary_directory = -1;
static char temporary_name[64];

void guard_temporary(int directory, const char *name) {
  temporary_directory = -1; /* a signal in between must not meet the new name with the old directory */
  if (directory >= 0) snprintf(temporary_name, sizeof temporary_name, "%s", name);
  temporary_directory = directory;
}

static volatile sig_atomic_t stops_held, stop_wanted;

void hold_stops(void) {
  stops_held += 1;
}

void allow_stops(void) {
  stops_held -= 1;
  if (stops_held > 0 || stop_wanted == 0) return;
  put_out_rest();
  _exit(128 + stop_wanted);
}

bool is_stop_wanted(void) {
  return stop_wanted != 0;
}

static void (*clean_up)(void);

void clean_up_when_failing(void (*clean)(void)) {
  clean_up = clean;
}

static void stop(int signal_number) {
  if (stops_held) {
    stop_wanted = signal_number;
    return;
  }
  if (temporary_directory >= 0) unlinkat(temporary_directory, temporary_name, 0);
  _exit(128 + signal_number);
}

void clean_up_when_told_to_stop(void) {
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  signal(SIGHUP, stop);
}

void hear_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static const char *current_path = "";

void working_on(const char *path) {
  current_path = path;
}

_Noreturn void fail_here(int error, const char *operation) {
  fail(error, operation, current_path);
}

_Noreturn void fail(int error, const char *operation, const char *path) {
  /* Taken and never given back: a second thread that fails waits here until the process is gone. */
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  if (temporary_directory >= 0) unlinkat(temporary_directory, temporary_name, 0);
  if (clean_up != NULL) clean_up();
  /* Never by flush_output: it fails where the reader is gone, and would wait here for itself. */
  put_out_rest();
  struct buffer record = {0};
  const char *fields[] = {errno_name(error), operation, path};
  for (size_t i = 0; i < 3; i++) append(&record, fields[i], strlen(fields[i]) + 1);
  (void)write_all(STDERR_FILENO, record.data, record.length);
  _exit(1);
}
