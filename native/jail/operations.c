/*
 * The operations of a plan: one loop, one switch. What each does is in the file its name suggests; the first that fails
 * ends the process, with a report that names it.
 */
#include "context.h"
#include "jail.h"
#include "mount/cache.h"
#include "owner/terminal.h"
#include "process/restrict.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void execute(struct jail_context *jail, const struct operation *operation, const struct plan *plan, int channel) {
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
    return map_self(jail, high, low);
  case OP_HOSTNAME:
    if (sethostname(s[0], strlen(s[0])) != 0) fail("setting the host name");
    return;
  case OP_LOOPBACK:
    return bring_loopback_up();
  case OP_CGROUP:
    return enter_control_group(s[0]);
  case OP_OWNERS:
    return make_namespace_of_owners(jail, s[0], s[1]);
  case OP_NUMBERS:
    return make_namespace_of_numbers(jail, s[0], s[1]);
  case OP_GROUPS:
    return take_groups(s);
  case OP_LISTEN:
    return listen_for_owner((uint16_t)operation->number);
  case OP_ROOT:
    return make_root(jail, operation->number);
  case OP_DIRECTORY:
    return make_directory(jail, s[0], (mode_t)operation->number);
  case OP_FILE:
    return make_file(jail, s[0], s[1], (mode_t)operation->number);
  case OP_SYMLINK:
    return make_symlink(jail, s[0], s[1]);
  case OP_TMPFS:
    return mount_tmpfs(jail, s[0], (mode_t)operation->number, operation->flags);
  case OP_BIND:
    return mount_bind(jail, s[0], s[1], s[2], operation->flags);
  case OP_OVERLAY:
    return mount_overlay(jail, operation);
  case OP_CACHE:
    return mount_cache(jail, operation);
  case OP_FUSE:
    return mount_fuse(jail, s[0], operation->number, operation->flags);
  case OP_PROC:
    return mount_proc(jail, s[0]);
  case OP_DEVPTS:
    return mount_devpts(jail, s[0]);
  case OP_MASK:
    return mask(jail, s[0]);
  case OP_READ_ONLY:
    return make_read_only(jail, s[0]);
  case OP_AGAIN:
    return repeat_mount(jail, s[0], s[1], operation->flags);
  case OP_PIVOT:
    return pivot(jail);
  case OP_SHIFT:
    return; /* read as the jail is made */
  case OP_USER:
    leave_session_keyring();
    become(high, low);
    /* Forgotten at every change of identity, so it is asked for after the last. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail("ending with the owner");
    if (jail->terminal.wanted) terminal_take(&jail->terminal, channel);
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
    return landlock_begin(&jail->landlock, operation->number, operation->flags);
  case OP_LANDLOCK_RULE:
    return landlock_allow(&jail->landlock, s[0], operation->number);
  case OP_COMMAND: {
    const struct operation *environment = find(plan, OP_ENVIRONMENT);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) fail_with(EPERM, "the plan gives the command no identity");
    landlock_enter(&jail->landlock);
    await_harmless_init(jail);
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

void make_network(struct jail_context *jail, const struct plan *plan) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    name_operation(plan, i);
    if (operation->code == OP_NAMESPACES && operation->flags & CLONE_NEWNET && unshare(CLONE_NEWNET) != 0)
      fail("making the namespaces");
  }
  execute_stage(jail, plan, STAGE_NETWORK, -1);
}

void execute_stage(struct jail_context *jail, const struct plan *plan, enum stage stage, int channel) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    if (operation_kinds[operation->code].stage != stage) continue;
    name_operation(plan, i);
    execute(jail, operation, plan, channel);
  }
}
