#ifndef CTX_JAIL_RESTRICT_H
#define CTX_JAIL_RESTRICT_H

/* What a process of the jail gives up before it is the command: Landlock, seccomp, limits. */
#include <stdint.h>

enum { MAX_SYSTEM_CALLS = 1024 };

/* What the command is being restricted to; -1 where nothing is yet. */
struct landlock {
  int ruleset;
  uint64_t handled;
};

void landlock_begin(struct landlock *landlock, uint64_t rights, uint32_t scopes);
void landlock_allow(const struct landlock *landlock, const char *path, uint64_t rights);
void landlock_enter(const struct landlock *landlock);

/* `channel` is a socket to the owner, which receives the filter's listener from it. */
void filter_system_calls(const char *text, int channel);

/*
 * Filters live in pages of the kernel that they share, and making the first such page executable interrupts every
 * processor. While this process lives there is one: so that the filters that follow cost little.
 */
void keep_page_for_filters(void);

/*
 * What one command was refused, by the number of the call: how often, and when, in milliseconds since 1970 of the
 * host's clock.
 */
struct refusals {
  struct {
    uint32_t count;
    long long first, last;
  } of[MAX_SYSTEM_CALLS];
};

struct seccomp_notif;
/* `refusals` may be null, where no one asks any more. */
void refuse_call(int listener, const struct seccomp_notif *call, struct refusals *refusals);
void report_refused_calls(const struct refusals *refusals);

#endif
