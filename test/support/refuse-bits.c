/*
 * refuse-bits NAME ARGUMENT BITS ERROR PROGRAM ARGS...: the program, and all it starts, on a host where this call fails
 * with the errno whenever an argument (counted from 0) has all of the bits; 0 bits: always; =BITS: it is these. By a
 * filter, so it works for static programs, and may be used several times over.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char *name;
  unsigned number;
} calls[] = {
    {"openat", SYS_openat},       {"openat2", SYS_openat2},     {"renameat2", SYS_renameat2},
    {"linkat", SYS_linkat},       {"unshare", SYS_unshare},     {"copy_file_range", SYS_copy_file_range},
    {"fcntl", SYS_fcntl},         {"syncfs", SYS_syncfs},       {"sync_file_range", SYS_sync_file_range},
    {"unlinkat", SYS_unlinkat},   {"fsetxattr", SYS_fsetxattr}, {"fsync", SYS_fsync},
    {"fdatasync", SYS_fdatasync},
};

int main(int count, char **words) {
  if (count < 6) return 2;
  unsigned number = 0, exact = words[3][0] == '=';
  const unsigned bits = (unsigned)strtoul(words[3] + exact, NULL, 0);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(calls[i].name, words[1]) == 0) number = calls[i].number;
  if (number == 0) return 2;
  const unsigned argument = offsetof(struct seccomp_data, args) + 8 * (unsigned)atoi(words[2]);
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, exact ? 0xffffffff : bits),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(words[4])),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("refuse-bits");
    return 3;
  }
  execvp(words[5], words + 5);
  return 127;
}
