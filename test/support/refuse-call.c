/*
 * refuse-call RULE... -- PROGRAM ARGS...: the program and all it starts, with some system calls answered by this filter
 * and not by the kernel. A rule is NUMBER:ERRNO, or NUMBER:ERRNO:ARGUMENT=VALUE... for the calls of which the low halves of
 * these arguments are these. Errno 0: the call says that it did something, and did nothing.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_RULES = 16, MOST_ARGUMENTS = 3, MOST_INSTRUCTIONS = (3 + 2 * MOST_ARGUMENTS) * MOST_RULES + 1 };

static struct sock_filter filter[MOST_INSTRUCTIONS];
static unsigned short length;

static void add(unsigned code, unsigned value, unsigned yes, unsigned no) {
  filter[length++] = (struct sock_filter){(unsigned short)code, (unsigned char)yes, (unsigned char)no, value};
}

static int add_rule(const char *text) {
  unsigned number, error, argument, value;
  int used = 0, arguments = 0;
  if (sscanf(text, "%u:%u%n", &number, &error, &used) != 2) return -1;
  for (const char *at = text + used; *at; at++) arguments += *at == '=';
  if (arguments > MOST_ARGUMENTS) return -1;
  unsigned left = 2 * (unsigned)arguments + 1; /* instructions that follow the comparison */
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, left);
  for (text += used; *text; text += used) {
    if (sscanf(text, ":%u=%u%n", &argument, &value, &used) != 2) return -1;
    left -= 2;
    add(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * argument, 0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, left);
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error, 0, 0);
  return 0;
}

int main(int count, char **words) {
  int at = 1;
  for (; at < count && strcmp(words[at], "--") != 0; at++)
    if (at > MOST_RULES || add_rule(words[at]) != 0) return 2;
  if (at + 1 >= count) return 2;
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  struct sock_fprog program = {length, filter};
  /* A user without privileges may set a filter only so. */
  if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    perror("seccomp");
    return 3;
  }
  execv(words[at + 1], words + at + 1);
  perror(words[at + 1]);
  return 4;
}
