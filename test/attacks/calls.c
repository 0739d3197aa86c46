/*
 * System calls that have been ways out of sandboxes, or into the kernel. Each verb makes one, in a way that succeeds
 * without a jail, and prints `won` where it did. Nothing here changes the machine. What needs a privilege is tried as
 * root of a nested namespace too, where anybody may have one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/if_alg.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NESTED_FLAGS = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET, OWN_ABI_X32 = 0x40000000 };

/* Newer than some headers; the numbers are the same on every architecture. */
enum {
  CALL_IO_URING_SETUP = 425,
  CALL_OPEN_TREE = 428,
  CALL_FSOPEN = 430,
  CALL_PIDFD_OPEN = 434,
  CALL_CLONE3 = 435,
  CALL_PIDFD_GETFD = 438,
  CALL_MOUNT_SETATTR = 442,
  CALL_MEMFD_SECRET = 447,
};

static void write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY);
  if (fd >= 0 && write(fd, text, strlen(text)) < 0) perror(path);
  close(fd);
}

/* Where it is refused the call that follows is tried all the same. */
static void nest(void) {
  char map[64];
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(NESTED_FLAGS) != 0) return;
  write_text("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "0 %u 1", uid);
  write_text("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "0 %u 1", gid);
  write_text("/proc/self/gid_map", map);
}

static pid_t sleeping_child(void) {
  int ready[2];
  char byte;
  if (pipe(ready) != 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where a trace left it stopped */
    if (write(ready[1], "", 1) == 1)
      for (;;) pause();
    _exit(1);
  }
  return read(ready[0], &byte, 1) == 1 ? pid : -1;
}

static long io_uring(void) {
  char parameters[256] = {0};
  return syscall(CALL_IO_URING_SETUP, 4, parameters);
}

static long bpf_map(void) {
  union bpf_attr about = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  return syscall(SYS_bpf, BPF_MAP_CREATE, &about, sizeof about);
}

static long perf_event(void) {
  struct perf_event_attr about = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof about, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
  return syscall(SYS_perf_event_open, &about, 0, -1, -1, 0);
}

static long user_fault(void) {
  return syscall(SYS_userfaultfd, 1 /* faults of user mode only */);
}

static long fanotify(void) {
  return syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | 0x200 /* report by identifier: needs no privilege */, O_RDONLY);
}

static long secret_memory(void) {
  return syscall(CALL_MEMFD_SECRET, 0);
}

static long splice_memory(void) {
  int ends[2];
  char byte = 0;
  struct iovec piece = {&byte, 1};
  return pipe(ends) == 0 ? syscall(SYS_vmsplice, ends[1], &piece, 1, 0) : -1;
}

static long namespace_by_unshare(void) {
  return unshare(CLONE_NEWUSER);
}

static long wait_for_child(long pid) {
  int status = -1;
  return pid < 0 || waitpid((pid_t)pid, &status, __WALL) < 0 || status != 0 ? -1 : 0;
}

static long namespace_by_clone(void) {
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return wait_for_child(pid);
}

static long namespace_by_clone3(void) {
  uint64_t arguments[8] = {[0] = CLONE_NEWUSER, [4] = SIGCHLD};
  long pid = syscall(CALL_CLONE3, arguments, sizeof arguments);
  if (pid == 0) _exit(0);
  return wait_for_child(pid);
}

/* Into the namespace of a child that made one. */
static long namespace_of_another(void) {
  int ready[2];
  char byte, path[64];
  if (pipe(ready) != 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    nest();
    if (write(ready[1], "", 1) == 1) sleep(2);
    _exit(0);
  }
  if (read(ready[0], &byte, 1) != 1) return -1;
  snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
  int fd = open(path, O_RDONLY);
  long result = fd < 0 ? -1 : setns(fd, CLONE_NEWUSER);
  kill(pid, SIGKILL);
  return result;
}

static long mount_tmpfs(void) {
  nest();
  return mount("none", "mount", "tmpfs", 0, NULL);
}

static long mount_by_new_interface(void) {
  nest();
  return syscall(CALL_FSOPEN, "tmpfs", 0);
}

static long clone_tree(void) {
  nest();
  return syscall(CALL_OPEN_TREE, AT_FDCWD, "/", 1 /* clone */ | AT_RECURSIVE);
}

static long change_mount(void) {
  uint64_t attributes[4] = {0, 1 /* clear read-only */};
  nest();
  return syscall(CALL_MOUNT_SETATTR, AT_FDCWD, "/", 0, attributes, sizeof attributes);
}

static long unmount_lazily(void) {
  nest();
  mount("none", "mount", "tmpfs", 0, NULL);
  return umount2("mount", MNT_DETACH);
}

static long change_root(void) {
  nest();
  return chroot("/");
}

static long name_handle(void) {
  union {
    struct file_handle handle;
    char room[256];
  } name = {.handle = {.handle_bytes = 128}};
  int mount_id;
  return name_to_handle_at(AT_FDCWD, "/", &name.handle, &mount_id, 0);
}

static long trace_child(void) {
  return ptrace(PTRACE_ATTACH, sleeping_child(), 0, 0);
}

static long read_child(void) {
  static char here[8], there[8];
  struct iovec to = {here, sizeof here}, from = {there, sizeof there};
  return process_vm_readv(sleeping_child(), &to, 1, &from, 1, 0);
}

static long write_child(void) {
  static char here[8], there[8];
  struct iovec from = {here, sizeof here}, to = {there, sizeof there};
  return process_vm_writev(sleeping_child(), &from, 1, &to, 1, 0);
}

static long take_descriptor_of_child(void) {
  long process = syscall(CALL_PIDFD_OPEN, sleeping_child(), 0);
  return syscall(CALL_PIDFD_GETFD, process, 1, 0);
}

static long compare_with_child(void) {
  return syscall(SYS_kcmp, getpid(), sleeping_child(), 1 /* address space */, 0, 0);
}

static long join_keyring(void) {
  return syscall(SYS_keyctl, 1, NULL);
}

static long add_key(void) {
  return syscall(SYS_add_key, "user", "ctx-test-call", "x", 1, -2 /* of the process */);
}

static long read_clock_discipline(void) {
  struct timex about = {.modes = 0};
  return syscall(SYS_adjtimex, &about);
}

static long list_file_systems(void) {
#ifdef SYS_sysfs
  return syscall(SYS_sysfs, 3);
#else
  errno = ENOSYS;
  return -1;
#endif
}

static long local_descriptor_table(void) {
#ifdef SYS_modify_ldt
  char entry[16];
  return syscall(SYS_modify_ldt, 0, entry, sizeof entry);
#else
  errno = ENOSYS;
  return -1;
#endif
}

static long raw_socket(void) {
  nest();
  return socket(AF_INET, SOCK_RAW, 1);
}

static long packet_socket(void) {
  nest();
  return socket(AF_PACKET, SOCK_RAW, 0);
}

static long kernel_event_socket(void) {
  return socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT);
}

static long audit_socket(void) {
  return socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
}

static long crypto_socket(void) {
  return socket(AF_ALG, SOCK_SEQPACKET, 0);
}

static long host_socket(void) {
  return socket(AF_VSOCK, SOCK_STREAM, 0);
}

/* Protocols that few use, whose modules the kernel loads for anyone who asks. */
static long multipath_socket(void) {
  return socket(AF_INET, SOCK_STREAM, 262 /* MPTCP */);
}

static long telecommunication_socket(void) {
  return socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
}

/* A connection to itself, whose records the kernel shall encrypt. */
static long kernel_tls(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr *)&address, size) != 0 || listen(server, 1) != 0 ||
      getsockname(server, (struct sockaddr *)&address, &size) != 0 ||
      connect(client, (struct sockaddr *)&address, size) != 0)
    return -1;
  return setsockopt(client, IPPROTO_TCP, 31 /* TCP_ULP */, "tls", sizeof "tls");
}

/*
 * Numbers of the 32-bit interface mean other calls: a filter that does not look at the architecture judges the wrong
 * one.
 */
static long by_32_bit_interface(void) {
#ifdef __x86_64__
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory", "cc", "r8", "r9", "r10", "r11");
  errno = result < 0 ? (int)-result : 0;
  return result == getpid() ? 0 : -1;
#else
  errno = ENOSYS;
  return -1;
#endif
}

static long by_x32_interface(void) {
#ifdef __x86_64__
  return syscall(OWN_ABI_X32 | SYS_getpid) == getpid() ? 0 : -1;
#else
  errno = ENOSYS;
  return -1;
#endif
}

static const struct {
  const char *name;
  long (*make)(void);
} calls[] = {
    {"io_uring_setup", io_uring},
    {"bpf", bpf_map},
    {"perf_event_open", perf_event},
    {"userfaultfd", user_fault},
    {"fanotify_init", fanotify},
    {"memfd_secret", secret_memory},
    {"vmsplice", splice_memory},
    {"unshare", namespace_by_unshare},
    {"clone", namespace_by_clone},
    {"clone3", namespace_by_clone3},
    {"setns", namespace_of_another},
    {"mount", mount_tmpfs},
    {"fsopen", mount_by_new_interface},
    {"open_tree", clone_tree},
    {"mount_setattr", change_mount},
    {"umount2", unmount_lazily},
    {"chroot", change_root},
    {"name_to_handle_at", name_handle},
    {"ptrace", trace_child},
    {"process_vm_readv", read_child},
    {"process_vm_writev", write_child},
    {"pidfd_getfd", take_descriptor_of_child},
    {"kcmp", compare_with_child},
    {"keyctl", join_keyring},
    {"add_key", add_key},
    {"adjtimex", read_clock_discipline},
    {"sysfs", list_file_systems},
    {"modify_ldt", local_descriptor_table},
    {"raw-socket", raw_socket},
    {"packet-socket", packet_socket},
    {"kernel-event-socket", kernel_event_socket},
    {"audit-socket", audit_socket},
    {"crypto-socket", crypto_socket},
    {"host-socket", host_socket},
    {"multipath-socket", multipath_socket},
    {"telecommunication-socket", telecommunication_socket},
    {"kernel-tls", kernel_tls},
    {"32-bit", by_32_bit_interface},
    {"x32", by_x32_interface},
};

int main(int count, char **words) {
  for (size_t i = 0; count > 1 && i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(words[1], calls[i].name) != 0) continue;
    long result = calls[i].make();
    puts(result >= 0 ? "won" : strerror(errno));
    return result < 0;
  }
  fprintf(stderr, "calls: expected a call\n");
  return 2;
}
