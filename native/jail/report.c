/* The report to the owner, and the end of a process that failed. Every file uses this one, and it uses none of them. */
#include "report.h"
#include "inherited.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* What this process puts back; one that it starts has its own. */
static struct {
  void (*act)(void *context);
  void *context;
  pid_t process;
} last_acts[2];

void before_giving_up(enum last_act which, void (*act)(void *context), void *context) {
  last_acts[which].act = act;
  last_acts[which].context = context;
  last_acts[which].process = getpid();
}

static void act_last(void) {
  for (size_t i = 0; i < sizeof last_acts / sizeof *last_acts; i++)
    if (last_acts[i].act && last_acts[i].process == getpid()) last_acts[i].act(last_acts[i].context);
}

/* Which operation is under way, for the message. */
static uint32_t current_index;
static const char *current_name = "start";

/* Whom the reports are about: 0 for the jail itself. */
static uint32_t subject;

void report_about(uint32_t id) {
  subject = id;
  current_index = 0;
  current_name = "request";
}

void report_at(uint32_t index, const char *name) {
  current_index = index;
  current_name = name;
}

void report(const char *format, ...) {
  char line[4096];
  int start = snprintf(line, sizeof line, "%u ", subject);
  va_list arguments;
  va_start(arguments, format);
  int length = start + vsnprintf(line + start, sizeof line - (size_t)start, format, arguments);
  va_end(arguments);
  size_t size = length < (int)sizeof line ? (size_t)length + 1 : sizeof line;
  line[size - 1] = 0;
  if (write(FD_REPORT, line, size) >= 0) return;
  /* No one is left to tell. */
  act_last();
  _exit(EXIT_FAILED);
}

static int progress = -1;

void tell_progress(int descriptor) {
  progress = descriptor;
}

static void tell(char what) {
  if (progress >= 0 && write(progress, &what, 1) != 1) _exit(EXIT_FAILED);
}

void report_executing(void) {
  tell(PROGRESS_EXECUTING);
}

_Noreturn void give_up(void) {
  act_last();
  tell(PROGRESS_FAILED);
  _exit(EXIT_FAILED);
}

void report_failure(int error, const char *what) {
  report("failed %u %s %d %s", current_index, current_name, error, what);
}

/* Where a failure goes on; null where it ends the process. */
static jmp_buf *after_failure;

bool attempt(void (*act)(void *context), void *context) {
  jmp_buf here;
  after_failure = &here;
  bool failed = setjmp(here) != 0;
  if (!failed) act(context);
  after_failure = NULL;
  return !failed;
}

_Noreturn void fail_with(int error, const char *what) {
  report_failure(error, what);
  if (after_failure) longjmp(*after_failure, 1);
  give_up();
}

_Noreturn void fail(const char *what) {
  fail_with(errno, what);
}
