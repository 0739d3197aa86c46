/*
 * serve: many jobs, a few at a time, for a caller to whom starting a program costs more than most jobs do. Each has a
 * process of its own, forked from this one, which has read nothing of any tree: a job that fails, or is led astray,
 * takes no other with it.
 *
 *   a job      u32 length, u32 length, its words, each NUL-terminated: the verb and its options, as on the command
 * line; its list answers    u32 job, u8 kind, u32 length, bytes: OUT and ERR as they come, then END with the exit code,
 * or 128 + the signal
 *
 * Jobs are counted from 0, as they are asked for. Numbers are little-endian, as all our hosts are. Ends with its
 * caller, and the jobs that run end, too.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT = 1, ERR = 2, END = 3 };
enum { MOST_BYTES = 64 << 20, PART = 64 << 10, MOST_JOBS = 4 };

/* False at the end of what is asked. */
static bool read_whole(void *into, size_t length) {
  char *at = into;
  while (length > 0) {
    ssize_t got = read(STDIN_FILENO, at, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    length -= (size_t)got;
  }
  return true;
}

struct job {
  uint32_t number;
  pid_t process;
  int streams[2]; /* what it puts out, and its errors; -1 once it has no more */
};

static struct job jobs[MOST_JOBS];
static size_t running;

static void answer(const struct job *job, uint8_t kind, const void *bytes, uint32_t length) {
  char head[9];
  memcpy(head, &job->number, sizeof job->number);
  head[4] = (char)kind;
  memcpy(head + 5, &length, sizeof length);
  if (write_all(STDOUT_FILENO, head, sizeof head) != 0 || write_all(STDOUT_FILENO, bytes, length) != 0) exit(0);
}

_Noreturn static void run_words(char *words, size_t length) {
  size_t count = 0;
  char **list = allocate((length + 1) * sizeof *list);
  for (size_t at = 0; at < length; at += strlen(words + at) + 1) list[count++] = words + at;
  run_job((int)count, list);
}

/* A list as the input of a job, which reads it from its beginning to its end. */
static int input_of(const char *list, size_t length) {
  int fd = length == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : memfd_create("list", MFD_CLOEXEC);
  if (fd < 0 || write_all(fd, list, length) != 0 || (length > 0 && lseek(fd, 0, SEEK_SET) != 0))
    fail(errno, "keep", "a list");
  return fd;
}

/*
 * What a key of the terminal sends to everybody is for the jobs: the one who asks wants to ask on, for what is left to
 * be told.
 */
static const int terminal_signals[] = {SIGINT, SIGQUIT, SIGHUP};

static void start(uint32_t number, char *words, size_t length, int input) {
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) fail(errno, "make a pipe", "");
  pid_t caller = getpid();
  pid_t process = fork();
  if (process < 0) fail(errno, "fork", "");
  if (process == 0) {
    for (size_t i = 0; i < sizeof terminal_signals / sizeof *terminal_signals; i++)
      signal(terminal_signals[i], SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != caller || dup2(input, STDIN_FILENO) < 0 ||
        dup2(output[1], STDOUT_FILENO) < 0 || dup2(errors[1], STDERR_FILENO) < 0)
      _exit(3);
    for (size_t i = 0; i < running; i++)
      for (int stream = 0; stream < 2; stream++)
        if (jobs[i].streams[stream] >= 0) close(jobs[i].streams[stream]);
    run_words(words, length);
  }
  close(output[1]);
  close(errors[1]);
  jobs[running++] = (struct job){number, process, {output[0], errors[0]}};
}

/* False where no one asks any more. */
static bool take(uint32_t number) {
  uint32_t lengths[2];
  if (!read_whole(lengths, sizeof lengths)) return false;
  size_t length = lengths[0], all = length + lengths[1];
  if (length == 0 || all > MOST_BYTES) fail(EINVAL, "read", "a job");
  char *words = allocate(all);
  if (!read_whole(words, all)) return false;
  if (words[length - 1] != '\0') fail(EINVAL, "read", "a job");
  int input = input_of(words + length, lengths[1]);
  start(number, words, length, input);
  close(input);
  free(words);
  return true;
}

static void pass_on(struct job *job, int stream) {
  static char part[PART];
  ssize_t got = read(job->streams[stream], part, sizeof part);
  if (got < 0 && errno == EINTR) return;
  if (got > 0) {
    answer(job, stream == 0 ? OUT : ERR, part, (uint32_t)got);
    return;
  }
  close(job->streams[stream]);
  job->streams[stream] = -1;
}

static uint8_t exit_code_of(pid_t process) {
  int status;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 1;
  return (uint8_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void follow(size_t index, const struct pollfd *watched) {
  struct job *job = &jobs[index];
  for (int stream = 0; stream < 2; stream++)
    if (job->streams[stream] >= 0 && watched[stream].revents) pass_on(job, stream);
  if (job->streams[0] >= 0 || job->streams[1] >= 0) return;
  uint8_t code = exit_code_of(job->process);
  answer(job, END, &code, sizeof code);
  jobs[index] = jobs[--running];
}

_Noreturn void serve_jobs(void) {
  /*
   * Its caller may be gone shortly before it: a directory of theirs, and the disk it is on, is not kept busy by that.
   */
  if (chdir("/") != 0) fail(errno, "enter", "/");
  for (size_t i = 0; i < sizeof terminal_signals / sizeof *terminal_signals; i++) signal(terminal_signals[i], SIG_IGN);
  hear_signals();
  for (uint32_t asked = 0;;) {
    struct pollfd watched[1 + 2 * MOST_JOBS] = {{STDIN_FILENO, running < MOST_JOBS ? POLLIN : 0, 0}};
    size_t followed = running;
    for (size_t i = 0; i < followed; i++)
      for (int stream = 0; stream < 2; stream++)
        watched[1 + 2 * i + (size_t)stream] = (struct pollfd){jobs[i].streams[stream], POLLIN, 0};
    if (poll(watched, 1 + 2 * followed, -1) < 0) continue;
    /* From the last: one that has ended gives its place to the last. */
    for (size_t i = followed; i-- > 0;) follow(i, &watched[1 + 2 * i]);
    if (watched[0].revents == 0) continue;
    /* No one waits for what runs: it ends with us. */
    if (!(watched[0].revents & POLLIN) || !take(asked++)) exit(0);
  }
}
