/* What a process of the jail tells its owner, and how it ends where something failed. */
#ifndef CTX_JAIL_REPORT_H
#define CTX_JAIL_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Every failure ends the process at once: an operation that went wrong must never be followed by the next. The message
 * goes to the owner as one line "ID failed INDEX NAME ERRNO what".
 */
_Noreturn void fail(const char *what);
_Noreturn void fail_with(int error, const char *what);
/*
 * Runs `act`; false where something in it failed. The failure is reported as ever, and ends `act` instead of the
 * process: the caller puts back what `act` had begun.
 */
bool attempt(void (*act)(void *context), void *context);
/* Ends the process where another has said why already. */
_Noreturn void give_up(void);
/*
 * The command's process writes a byte there when all that is left to do is exec, and another when something failed. A
 * successful exec closes it: so "executing" alone, then the end, is success, and everything else is failure.
 */
enum { PROGRESS_EXECUTING = 'e', PROGRESS_FAILED = 'f' };
void tell_progress(int descriptor);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the reports that follow are about: the command of this number, 0 before there is one. */
void report_about(uint32_t id);
/* Which operation of a plan is under way. */
void report_at(uint32_t index, const char *name);
/* All that is left to do is exec: PROGRESS_EXECUTING. */
void report_executing(void);
/* What this process, and none that it starts, has to put back before it ends because of a failure. */
enum last_act { LAST_TERMINAL, LAST_SOCKETS };
void before_giving_up(enum last_act which, void (*act)(void *context), void *context);
/* Where the failure of one thing shall not end this process. */
void report_failure(int error, const char *what);

enum { EXIT_FAILED = 125 };

#endif
