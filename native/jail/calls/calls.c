#include "calls/calls.h"
#include "calls/links.h"
#include "calls/renames.h"
#include "context.h"
#include "jail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/*
 * Since Linux 6.6: the process that asks and the process that answers take turns on one processor, which is what
 * happens here.
 */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

struct calls *calls_of(int listener, const struct plan *plan, struct refusals *refusals, struct renamed *renamed) {
  struct calls *calls = calloc(1, sizeof *calls);
  if (!calls) return NULL;
  *calls = (struct calls){.listener = listener, .plan = plan, .refusals = refusals, .renamed = renamed};
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
  return calls;
}

bool calls_keep_plan(struct calls *calls, const char *bytes, size_t size) {
  struct plan *plan = calloc(1, sizeof *plan);
  char *kept = malloc(size);
  if (!plan || !kept) {
    free(plan);
    free(kept);
    return false;
  }
  calls->plan = plan;
  calls->bytes = kept;
  memcpy(calls->bytes, bytes, size);
  return plan_parse(calls->bytes, size, PLAN_COMMAND, plan) == NULL;
}

void calls_free(struct jail_context *jail, struct calls *calls) {
  if (!calls) return;
  renames_forget(jail, calls);
  /* Not left to close: a process that is being started has the listener, too, and the kernel would report it again. */
  if (jail->left_calls >= 0) epoll_ctl(jail->left_calls, EPOLL_CTL_DEL, calls->listener, NULL);
  close(calls->listener);
  if (calls->bytes) {
    plan_free((struct plan *)calls->plan);
    free((struct plan *)calls->plan);
    free(calls->bytes);
  }
  free(calls);
}

void take_call(struct jail_context *jail, struct calls *calls) {
  struct seccomp_notif call;
  memset(&call, 0, sizeof call);
  if (ioctl(calls->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return; /* the caller is gone */
  if (!rename_asked(jail, calls, &call) && !link_asked(jail, calls, &call))
    refuse_call(calls->listener, &call, calls->refusals);
}

void calls_leave(struct jail_context *jail, struct calls *calls) {
  calls->refusals = NULL;
  calls->renamed = NULL;
  if (jail->left_calls < 0) jail->left_calls = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = calls};
  if (jail->left_calls < 0 || epoll_ctl(jail->left_calls, EPOLL_CTL_ADD, calls->listener, &event) != 0)
    fail("watching what a command left running");
}

void take_left_calls(struct jail_context *jail) {
  struct epoll_event events[16];
  int count = epoll_wait(jail->left_calls, events, 16, 0);
  for (int i = 0; i < count; i++) {
    if (events[i].events & EPOLLIN)
      take_call(jail, events[i].data.ptr);
    else
      calls_free(jail, events[i].data.ptr); /* the last process under this filter has ended */
  }
}
