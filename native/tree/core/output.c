/* Records out and in. Only the main thread puts records; other threads leave problems to be put out at the end. */
#include "core/core.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void flush_output(void) {
  int error = write_pending();
  if (error != 0) fail(error, "write", "stdout");
}

void flush_output_if_late(void) {
  static struct timespec last;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (nanoseconds(now) - nanoseconds(last) < 5000000) return;
  last = now;
  flush_output();
}

void put_raw(const char *bytes, size_t length) {
  add_pending(bytes, length);
  if (add_pending("", 1) >= 1024 * 1024) flush_output();
}

void put_field(const char *text) {
  put_raw(text, strlen(text));
}

void put_number(uint64_t value, bool octal) {
  char text[32];
  snprintf(text, sizeof text, octal ? "%llo" : "%llu", (unsigned long long)value);
  put_field(text);
}

static struct problem {
  char *path;
  int error;
  const char *why;
} * problems;
static size_t problem_count, problem_capacity;
static pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

void note_problem(char *path, int error, const char *why) {
  pthread_mutex_lock(&problem_lock);
  if (problem_count == problem_capacity) {
    problem_capacity = problem_capacity * 2 + 16;
    problems = reallocate(problems, problem_capacity * sizeof *problems);
  }
  problems[problem_count++] = (struct problem){path, error, why};
  pthread_mutex_unlock(&problem_lock);
}

static int by_path(const void *left, const void *right) {
  return strcmp(((const struct problem *)left)->path, ((const struct problem *)right)->path);
}

void put_problems(void) {
  if (problem_count > 0) qsort(problems, problem_count, sizeof *problems, by_path);
  for (size_t i = 0; i < problem_count; i++) {
    put_field(problems[i].path);
    put_field(errno_name(problems[i].error));
    put_field(problems[i].why);
  }
}

struct records read_records(void) {
  struct buffer input = {0};
  char chunk[65536];
  for (;;) {
    ssize_t length = read(STDIN_FILENO, chunk, sizeof chunk);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) fail(errno, "read", "stdin");
    if (length == 0) break;
    append(&input, chunk, (size_t)length);
  }
  if (input.length > 0 && input.data[input.length - 1] != '\0') fail(EINVAL, "read", "stdin");
  return (struct records){input.data, input.length, 0};
}

char *next_record(struct records *records) {
  if (records->position >= records->length) return NULL;
  char *record = records->data + records->position;
  records->position += strlen(record) + 1;
  return record;
}
