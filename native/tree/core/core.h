/* What every verb stands on: memory, failing, records in and out, times. None of it knows a tree. */
#ifndef CTX_TREE_CORE_H
#define CTX_TREE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* memory.c: memory is there, or the program ends. */
struct buffer {
  char *data;
  size_t length, capacity;
};
void *allocate(size_t bytes);
void *reallocate(void *old, size_t bytes);
char *copy_text(const char *text); /* as strdup(3), which would answer NULL */
void append(struct buffer *buffer, const void *bytes, size_t length);

/* pending.c: what is to go to stdout. */
int write_all(int fd, const void *bytes, size_t length); /* 0, or an errno */
size_t add_pending(const void *bytes, size_t length);    /* how much there is now */
int write_pending(void);
void put_out_rest(void); /* for a process that ends: where nobody reads any more, nothing is said */

/* errors.c */
const char *errno_name(int error);
/* Ends the program from any thread; records already put out are flushed first. */
_Noreturn void fail(int error, const char *operation, const char *path);
/* The entry being worked on, for failures deeper down that know only a name. */
void working_on(const char *path);
_Noreturn void fail_here(int error, const char *operation);
/* Being told to stop (SIGTERM, SIGINT, SIGHUP) leaves no temporary behind. */
void clean_up_when_told_to_stop(void);
/*
 * Once it is decided what signals do: a program that `native/start.node` starts begins with all of them blocked.
 */
void hear_signals(void);
/* A temporary that must not outlive a failure; pass -1 once it has its final name. */
void guard_temporary(int directory, const char *name);
/* Between these two, being told to stop waits: the person's entry is under another name. They may be nested. */
void hold_stops(void);
void allow_stops(void);
bool is_stop_wanted(void);
/* Called once before a failure ends the program; it must not fail. */
void clean_up_when_failing(void (*clean)(void));

/*
 * large-stack.c: recursion follows the depth of a tree, which an agent chooses: a stack that outlasts any limit of
 * descriptors. A thread with such a one costs a job as much as all else that it does in a small tree. `run` ends the
 * process.
 */
_Noreturn void run_on_large_stack(void (*run)(void));

/* output.c */
void put_field(const char *text);
void put_number(uint64_t value, bool octal);
void put_raw(const char *bytes, size_t length); /* and a NUL after it */
void flush_output(void);
void flush_output_if_late(void);
/* Soft problems are collected by any thread and put out at the end, sorted by path, so that output is deterministic. */
void note_problem(char *path, int error, const char *why);
void put_problems(void);
/* All of stdin; records are then taken one by one. NULL at the end; an unterminated last record is refused. */
struct records {
  char *data;
  size_t length, position;
};
struct records read_records(void);
char *next_record(struct records *records);

/* clock.c */
int64_t nanoseconds(struct timespec time);
bool is_racy(const struct stat *status);
bool keeps_seconds(const struct stat *status);
void nap_until_trusted(const struct stat *status); /* not for seconds */
void nap_in_full(void);

#endif
