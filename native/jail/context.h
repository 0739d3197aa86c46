/*
 * All that one process of a jail knows: the owner fills it, and init and each command get a copy by fork. Functions
 * take it, or the part that they need.
 */
#ifndef CTX_JAIL_CONTEXT_H
#define CTX_JAIL_CONTEXT_H

#include "calls/renames.h"
#include "mount/staging.h"
#include "owner/crowd.h"
#include "owner/held.h"
#include "owner/terminal.h"
#include "plan.h"
#include "process/restrict.h"
#include "process/start.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { MOST_COMMANDS = 256 };

/* What is kept of the host once its files are gone. */
struct host {
  int processes; /* its /proc */
  uid_t uid;     /* who we are there */
  gid_t gid;
};

/* User namespaces, by descriptor; -1 before they are made, and where the plan has none. */
struct namespaces {
  int shift;            /* of every command, where the plan shifts */
  uint32_t root_inside; /* the id outside of its root: the jail's own places are given to it */
  int owners;           /* for mounts with PLAN_ATTR_OWNERS */
  int numbers;          /* for the command itself, where inside it has other numbers than outside */
};

/* A directory that was opened for a place in it; -1 where none is. */
struct parent {
  size_t length;
  char path[PATH_MAX];
  int descriptor;
};

/* The root that targets are found in; -1 where there is none. */
struct root {
  int descriptor;
  struct parent last; /* the next place is often in it, too */
};

/* When the owner looks how many there are. */
struct crowd_watch {
  int patience; /* in milliseconds */
  long long looked;
  uint32_t before;
};

struct jail_context {
  const struct plan *plan;
  struct host host;
  struct namespaces namespaces;
  struct root root;
  struct staging staging;
  struct landlock landlock;
  struct terminal terminal;
  int before_pivot; /* the pivot waits for a byte there: the network, and every process in the new root, must exist */
  int awaited_init; /* in the first command: init says there that it has given up what it may do */
  int taker;        /* a channel to the process that takes clones for a kept jail (join.h) */

  /* The owner's alone. */
  struct ties ties;
  mode_t mask; /* of the process that started us, for the commands */
  int signals;
  int stops; /* see stop_signals */
  bool kept; /* it goes on after a command, until no one asks any more */
  bool ready; /* init is, and the owner is in the new root: a command does not wait for them */
  int requests; /* where commands are asked for; -1 where no one does */
  int sockets;  /* the directory of the view's sockets (sockets.h); -1 where there is none */
  struct renames renames;
  int left_calls; /* readable when what an ended command left running asks; -1 where none was left */
  struct held held;
  struct crowd_watch crowd;
  uint32_t count;
  struct command *commands[MOST_COMMANDS];
};

/* Nothing of it is open or made yet. */
#define EMPTY_CONTEXT                                                                                                  \
  {                                                                                                                    \
    .host = {.processes = -1}, .namespaces = {.shift = -1, .owners = -1, .numbers = -1},                               \
    .root = {.descriptor = -1, .last = {.descriptor = -1}}, .staging = {.own = -1, .jail = -1, .base = -1},            \
    .landlock = {.ruleset = -1}, .terminal = {.person = {.master = -1}, .carrier = -1}, .before_pivot = -1,           \
    .awaited_init = -1, .taker = -1,                                                                                     \
    .requests = -1, .sockets = -1, .renames = {.answer = -1}, .left_calls = -1,                                        \
    .crowd = {.patience = CROWD_LOOK_LEAST_MS},                                                                        \
  }

#endif
