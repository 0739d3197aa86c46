/*
 * Starts a program of ours without a copy of this process: Node's own way forks, which copies the page tables of a
 * whole runtime and makes every page of it fault again, and loads sockets and streams. For a process that runs one
 * command and ends.
 *
 * start(program, words, ends, stream...) returns the process, or an errno below zero. `words` are the arguments, each
 * NUL-terminated, with the program's own name first; the environment is empty. Each stream becomes the descriptor of
 * its place: a number is a descriptor of ours, NOTHING is /dev/null, and for READ_END and WRITE_END a pipe is made, of
 * which our end is put into `ends`, four bytes a stream. There are three to twenty-five. Nothing else is passed on.
 *
 * The program begins with every signal blocked, and hears them once it has decided what they do to it: until it has
 * begun this process waits where no signal stops it, so one that was stopped would hang the whole job.
 *
 * wait(process) waits for its end and returns its status as the kernel has it, or an errno below zero.
 */
#include "exports.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTHING = -1, READ_END = -2, WRITE_END = -3 };
enum { LEAST_STREAMS = 3, MOST_STREAMS = 25, FIRST_STREAM = 3, LAST_SIGNAL = 65 };

struct streams {
  int count;
  int theirs[MOST_STREAMS]; /* above the places that they go to */
  int32_t ours[MOST_STREAMS];
};

static int above_places(int descriptor) {
  if (descriptor < 0) return -1;
  int above = fcntl(descriptor, F_DUPFD_CLOEXEC, MOST_STREAMS);
  /* So few files may be open that there is no such number at all. */
  if (above < 0 && errno == EINVAL) errno = EMFILE;
  return above;
}

static int open_stream(int32_t asked, struct streams *streams) {
  int pipe_ends[2], place = streams->count;
  streams->ours[place] = -1;
  if (asked == READ_END || asked == WRITE_END) {
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) return errno;
    streams->ours[place] = pipe_ends[asked == READ_END ? 0 : 1];
    asked = pipe_ends[asked == READ_END ? 1 : 0];
    streams->theirs[place] = above_places(asked);
    close(asked);
  } else if (asked == NOTHING) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    streams->theirs[place] = above_places(null);
    if (null >= 0) close(null);
  } else {
    streams->theirs[place] = above_places(asked);
  }
  streams->count++;
  return streams->theirs[place] < 0 ? errno : 0;
}

static void close_theirs(const struct streams *streams) {
  for (int i = 0; i < streams->count; i++)
    if (streams->theirs[i] >= 0) close(streams->theirs[i]);
}

static void close_ours(const struct streams *streams) {
  for (int i = 0; i < streams->count; i++)
    if (streams->ours[i] >= 0) close(streams->ours[i]);
}

/* In the memory of this process, which waits: nothing is written but `error`, and what is local. */
static _Noreturn void become(const char *program, char **words, const struct streams *streams, volatile int *error) {
  static char *nothing[] = {NULL};
  /* As after a start by a shell: Node ignores some signals, and hears others. The C library's own two, too. */
  for (int number = 1; number < LAST_SIGNAL; number++) {
    struct {
      void *handler;
      unsigned long flags;
      void *restorer;
      unsigned long mask;
    } by_default = {0};
    syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof by_default.mask);
  }
  for (int i = 0; i < streams->count; i++)
    if (dup2(streams->theirs[i], i) != i) goto failed;
  /* What Node was given by whoever started it. */
  syscall(SYS_close_range, streams->count, ~0U, CLOSE_RANGE_CLOEXEC);
  execve(program, words, nothing);
failed:
  *error = errno;
  _exit(127);
}

/* By vfork and not by posix_spawn, whose programs ignore the two signals of the C library from then on. */
static int spawn(const char *program, char **words, const struct streams *streams) {
  volatile int error = 0;
  sigset_t all, before;
  sigfillset(&all);
  /* A handler of ours must not run there, nor may it end or stop before it is the program. */
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pid_t pid = vfork();
  if (pid == 0) become(program, words, streams, &error);
  if (pid < 0) error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (pid > 0 && error != 0) waitpid(pid, NULL, 0);
  return error == 0 ? pid : -error;
}

/* Null where there is no memory, or the last word does not end. */
static char **split(char *bytes, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += bytes[i] == 0;
  char **words = length > 0 && bytes[length - 1] == 0 ? calloc(count + 1, sizeof *words) : NULL;
  for (size_t i = 0; words && i < count; i++, bytes += strlen(bytes) + 1) words[i] = bytes;
  return words;
}

static int32_t start_now(napi_env env, size_t count, napi_value *arguments) {
  char program[4096];
  void *words_bytes = NULL, *ends = NULL;
  size_t program_length = 0, words_length = 0, ends_length = 0;
  struct streams streams = {0};
  if (count < FIRST_STREAM + LEAST_STREAMS || count > FIRST_STREAM + MOST_STREAMS ||
      napi_get_value_string_utf8(env, arguments[0], program, sizeof program, &program_length) != 0 ||
      program_length >= sizeof program - 1 ||
      napi_get_buffer_info(env, arguments[1], &words_bytes, &words_length) != 0 ||
      napi_get_buffer_info(env, arguments[2], &ends, &ends_length) != 0 ||
      ends_length != (count - FIRST_STREAM) * sizeof *streams.ours)
    return -EINVAL;
  char **words = split(words_bytes, words_length);
  int error = words ? 0 : EINVAL;
  for (size_t i = FIRST_STREAM; i < count && error == 0; i++) {
    int32_t asked = NOTHING;
    error = napi_get_value_int32(env, arguments[i], &asked) == 0 ? open_stream(asked, &streams) : EINVAL;
  }
  int32_t answer = error == 0 ? spawn(program, words, &streams) : -error;
  free(words);
  close_theirs(&streams);
  if (answer < 0)
    close_ours(&streams);
  else
    memcpy(ends, streams.ours, ends_length);
  return answer;
}

static napi_value start(napi_env env, napi_callback_info info) {
  size_t count = FIRST_STREAM + MOST_STREAMS + 1;
  napi_value arguments[FIRST_STREAM + MOST_STREAMS + 1], result = NULL;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  napi_create_int32(env, start_now(env, count, arguments), &result);
  return result;
}

static int32_t wait_for(int32_t pid) {
  int status = 0;
  if (pid <= 0) return -EINVAL;
  while (waitpid(pid, &status, 0) != pid)
    if (errno != EINTR) return -errno;
  return status;
}

static napi_value wait_now(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = NULL, result = NULL;
  int32_t pid = -1;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  if (count != 1 || napi_get_value_int32(env, argument, &pid) != 0) pid = -1;
  napi_create_int32(env, wait_for(pid), &result);
  return result;
}

EXPORTS({"start", start}, {"wait", wait_now})
