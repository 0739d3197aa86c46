/*
 * The operations of a plan: one loop, one switch. What each does is in the file its name suggests; the first that fails
 * ends the process, with a report that names it.
 */
#include "cache.h"
#include "jail.h"
#include "restrict.h"
#include "terminal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void execute(const struct operation *operation, const struct plan *plan, int channel) {
  char **s = operation->strings;
  uint32_t high = high_half(operation->number), low = low_half(operation->number);
  static char *nothing[] = {NULL};
  switch (operation->code) {
  case OP_BASE:
    if (chdir(s[0]) != 0) fail(s[0]);
    return;
  case OP_NAMESPACES:
    if (unshare((int)operation->flags & ~CLONE_NEWNET) != 0) fail("making the namespaces");
    return; /* the network's follows, see make_network */
  case OP_MAP_SELF:
    return map_self(high, low);
  case OP_HOSTNAME:
    if (sethostname(s[0], strlen(s[0])) != 0) fail("setting the host name");
    return;
  case OP_LOOPBACK:
    return bring_loopback_up();
  case OP_CGROUP:
    return enter_control_group(s[0]);
  case OP_OWNERS:
    return make_namespace_of_owners(s[0], s[1]);
  case OP_NUMBERS:
    return make_namespace_of_numbers(s[0], s[1]);
  case OP_GROUPS:
    return take_groups(s);
  case OP_LISTEN:
    return listen_for_owner((uint16_t)operation->number);
  case OP_ROOT:
    return make_root(operation->number);
  case OP_DIRECTORY:
    return make_directory(s[0], (mode_t)operation->number);
  case OP_FILE:
    return make_file(s[0], s[1], (mode_t)operation->number);
  case OP_SYMLINK:
    return make_symlink(s[0], s[1]);
  case OP_TMPFS:
    return mount_tmpfs(s[0], (mode_t)operation->number, operation->flags);
  case OP_BIND:
    return mount_bind(s[0], s[1], s[2], operation->flags);
  case OP_OVERLAY:
    return mount_overlay(operation);
  case OP_CACHE:
    return mount_cache(operation);
  case OP_FUSE:
    return mount_fuse(s[0], operation->number, operation->flags);
  case OP_PROC:
    return mount_proc(s[0]);
  case OP_DEVPTS:
    return mount_devpts(s[0]);
  case OP_MASK:
    return mask(s[0]);
  case OP_READ_ONLY:
    return make_read_only(s[0]);
  case OP_AGAIN:
    return repeat_mount(s[0], s[1], operation->flags);
  case OP_PIVOT:
    return pivot();
  case OP_SHIFT:
    return; /* read as the jail is made */
  case OP_USER:
    leave_session_keyring();
    become(high, low);
    /* Forgotten at every change of identity, so it is asked for after the last. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail("ending with the owner");
    if (terminal_wanted()) terminal_take(channel);
    return;
  case OP_LIMIT:
    return limit(operation->flags, operation->number);
  case OP_DIRECTORY_OF_COMMAND:
    if (chdir(s[0]) != 0) fail(s[0]);
    return;
  case OP_SECCOMP:
    return filter_system_calls(s[0], channel);
  case OP_ENVIRONMENT:
    return; /* read by OP_COMMAND */
  case OP_HELD:
    return; /* for the owner */
  case OP_LANDLOCK:
    return landlock_begin(operation->number, operation->flags);
  case OP_LANDLOCK_RULE:
    return landlock_allow(s[0], operation->number);
  case OP_COMMAND: {
    const struct operation *environment = find(plan, OP_ENVIRONMENT);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) fail_with(EPERM, "the plan gives the command no identity");
    landlock_enter();
    await_harmless_init();
    report_executing();
    execute_program(s, environment ? environment->strings : nothing);
  }
  case OP_COUNT:
    break;
  }
  fail_with(EINVAL, "an unknown operation");
}

static void name_operation(const struct plan *plan, uint32_t index) {
  report_at(index, operation_kinds[plan->operations[index].code].name);
}

void make_network(const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    name_operation(plan, i);
    if (operation->code == OP_NAMESPACES && operation->flags & CLONE_NEWNET && unshare(CLONE_NEWNET) != 0)
      fail("making the namespaces");
  }
  execute_stage(plan, STAGE_NETWORK, -1);
}

void execute_stage(const struct plan *plan, enum stage stage, int channel) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    if (operation_kinds[operation->code].stage != stage) continue;
    name_operation(plan, i);
    execute(operation, plan, channel);
  }
}
