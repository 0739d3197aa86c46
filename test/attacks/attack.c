/*
 * What an agent tries that no shell command can: each verb is one attack, and prints what it got hold of. The tests run
 * it once without a jail, where it has to succeed, and once inside.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

enum { SECRET_BYTES = 64, KEY_ADD_SESSION = -3 };

_Noreturn static void die(const char *what) {
  fprintf(stderr, "attack: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void show(int fd) {
  char bytes[4096];
  ssize_t got = read(fd, bytes, sizeof bytes);
  if (got < 0) die("read");
  if (fwrite(bytes, 1, (size_t)got, stdout) != (size_t)got) die("write");
}

static void show_file(const char *path) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) die(path);
  show(fd);
}

/* A process of the host that has the secret in memory, in a file it holds open, in shared memory and in its keyring. */
static int hold(char **words) {
  static char secret[SECRET_BYTES];
  snprintf(secret, sizeof secret, "%s", words[0]);
  int file = open(words[1], O_RDONLY);
  int shared = shmget((key_t)strtol(words[2], NULL, 0), SECRET_BYTES, IPC_CREAT | 0600);
  if (file < 0 || shared < 0) die("hold");
  char *memory = shmat(shared, NULL, 0);
  strcpy(memory, secret);
  shmctl(shared, IPC_RMID, NULL); /* gone with the last process that has it */
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  printf("%d %p %d %d\n", (int)getpid(), (void *)secret, file, shared);
  fflush(stdout);
  for (;;) pause();
}

static int read_memory_file(char **words) {
  char path[64], bytes[SECRET_BYTES];
  snprintf(path, sizeof path, "/proc/%s/mem", words[0]);
  int fd = open(path, O_RDONLY);
  if (fd < 0 || pread(fd, bytes, sizeof bytes, (off_t)strtoull(words[1], NULL, 16)) < 0) die(path);
  puts(bytes);
  return 0;
}

static int read_other_memory(char **words) {
  char bytes[SECRET_BYTES];
  struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)strtoull(words[1], NULL, 16), sizeof bytes};
  if (process_vm_readv(atoi(words[0]), &here, 1, &there, 1, 0) < 0) die("process_vm_readv");
  puts(bytes);
  return 0;
}

static int trace(char **words) {
  pid_t pid = atoi(words[0]);
  uintptr_t at = (uintptr_t)strtoull(words[1], NULL, 16);
  if (ptrace(PTRACE_ATTACH, pid, 0, 0) != 0 || waitpid(pid, NULL, __WALL) != pid) die("ptrace");
  long values[SECRET_BYTES / sizeof(long) + 1] = {0};
  for (size_t i = 0; i < SECRET_BYTES / sizeof(long); i++)
    values[i] = ptrace(PTRACE_PEEKDATA, pid, at + i * sizeof(long), 0);
  ptrace(PTRACE_DETACH, pid, 0, 0);
  puts((char *)values);
  return 0;
}

static int steal_descriptor(char **words) {
  int process = (int)syscall(SYS_pidfd_open, atoi(words[0]), 0);
  int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, atoi(words[2]), 0);
  if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0) die("pidfd_getfd");
  show(fd);
  return 0;
}

static int shared_memory(char **words) {
  char *memory = shmat(atoi(words[0]), NULL, SHM_RDONLY);
  if (memory == (void *)-1) die("shmat");
  puts(memory);
  return 0;
}

/* A session keyring goes from parent to child, namespaces or not. Adds the secret to it, then becomes the command. */
static int with_key(char **words) {
  if (syscall(SYS_keyctl, 1 /* join a new session keyring */, NULL) < 0 ||
      syscall(SYS_add_key, "user", "ctx-test", words[0], strlen(words[0]), KEY_ADD_SESSION) < 0)
    die("add_key");
  execvp(words[1], &words[1]);
  die(words[1]);
}

static int read_key(char **words) {
  (void)words;
  char bytes[SECRET_BYTES] = {0};
  long key = syscall(SYS_keyctl, 10 /* search */, KEY_ADD_SESSION, "user", "ctx-test", 0);
  if (key < 0 || syscall(SYS_keyctl, 11 /* read */, key, bytes, sizeof bytes - 1) < 0) die("keyctl");
  puts(bytes);
  return 0;
}

/* A leading @ stands for the NUL of an abstract address. */
static socklen_t local_address(const char *name, struct sockaddr_un *address) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  snprintf(address->sun_path, sizeof address->sun_path, "%s", name);
  if (name[0] == '@') address->sun_path[0] = 0;
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static int connect_local(char **words) {
  struct sockaddr_un address;
  socklen_t length = local_address(words[0], &address);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, length) != 0) die(words[0]);
  show(fd);
  return 0;
}

/* Serves a secret at a unix address, a pathname one or an abstract one. */
static int serve_local(char **words) {
  struct sockaddr_un address;
  socklen_t length = local_address(words[0], &address);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 5) != 0) die(words[0]);
  puts("listening");
  fflush(stdout);
  for (int peer; (peer = accept(fd, NULL, NULL)) >= 0; close(peer))
    if (write(peer, words[1], strlen(words[1])) < 0) die("serve");
  return 1;
}

static void map_root(uid_t uid, gid_t gid) {
  const char *const files[] = {"setgroups", "uid_map", "gid_map"};
  for (int i = 0; i < 3; i++) {
    char path[64], text[64] = "deny";
    snprintf(path, sizeof path, "/proc/self/%s", files[i]);
    if (i > 0) snprintf(text, sizeof text, "0 %u 1", i == 1 ? uid : gid);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) die(path);
    close(fd);
  }
}

/* Root of a user and mount namespace of one's own: every capability, though only over what is one's own. */
static void become_root_of_nested_namespace(void) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) die("unshare");
  map_root(uid, gid);
}

static int nested(char **words) {
  become_root_of_nested_namespace();
  execvp(words[0], words);
  die(words[0]);
}

static int break_out_of_chroot(char **words) {
  become_root_of_nested_namespace();
  mkdir("cell", 0700);
  int outside = open(".", O_RDONLY | O_DIRECTORY);
  if (outside < 0 || chroot("cell") != 0 || fchdir(outside) != 0) die("chroot");
  for (int i = 0; i < 100; i++)
    if (chdir("..") != 0) die("..");
  if (chroot(".") != 0) die("chroot");
  show_file(words[0]);
  return 0;
}

static int bind_mount(char **words) {
  if (mount(words[0], words[1], NULL, MS_BIND | MS_REC, NULL) != 0) die("bind mount");
  return 0;
}

static int remount_writable(char **words) {
  if (mount(NULL, words[0], NULL, MS_REMOUNT | MS_BIND, NULL) != 0) die("remount");
  return 0;
}

static int make_device(char **words) {
  unlink(words[0]);
  if (mknod(words[0], S_IFCHR | 0666, makedev(1, 5)) != 0) die("mknod");
  char byte = 1;
  int fd = open(words[0], O_RDONLY);
  if (fd < 0 || read(fd, &byte, 1) != 1 || byte != 0) die("device");
  puts("read a device");
  return 0;
}

static const int handle_bytes = 128;

static int make_handle(char **words) {
  struct file_handle *handle = calloc(1, sizeof *handle + (size_t)handle_bytes);
  int mount_id;
  handle->handle_bytes = (unsigned)handle_bytes;
  if (name_to_handle_at(AT_FDCWD, words[0], handle, &mount_id, 0) != 0) die("name_to_handle_at");
  for (size_t i = 0; i < sizeof *handle + handle->handle_bytes; i++) printf("%02x", ((unsigned char *)handle)[i]);
  return 0;
}

/* By its number, past every directory that a namespace hides. */
static int open_handle(char **words) {
  struct file_handle *handle = calloc(1, sizeof *handle + (size_t)handle_bytes);
  for (size_t i = 0; words[0][2 * i] != 0; i++) {
    unsigned byte;
    sscanf(words[0] + 2 * i, "%2x", &byte);
    ((unsigned char *)handle)[i] = (unsigned char)byte;
  }
  int mount = open(words[1], O_RDONLY | O_DIRECTORY);
  int fd = open_by_handle_at(mount, handle, O_RDONLY);
  if (fd < 0) die("open_by_handle_at");
  show(fd);
  return 0;
}

/* Typed into the terminal as if the person had. */
static int type_into_terminal(char **words) {
  int fd = open("/dev/tty", O_RDWR);
  if (fd < 0) fd = 0;
  for (const char *at = words[0]; *at; at++)
    if (ioctl(fd, TIOCSTI, at) != 0) die("TIOCSTI");
  return 0;
}

/* Runs a command on a terminal of its own and shows what is typed there when the command has ended. */
static int on_terminal(char **words) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) die("pty");
  int person = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  struct termios raw;
  if (person < 0 || tcgetattr(person, &raw) != 0) die("terminal");
  cfmakeraw(&raw);
  tcsetattr(person, TCSANOW, &raw);
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    ioctl(person, TIOCSCTTY, 0);
    for (int i = 0; i < 3; i++) dup2(person, i);
    execvp(words[0], words);
    die(words[0]);
  }
  struct pollfd watched = {.fd = terminal, .events = POLLIN};
  char bytes[4096];
  int status;
  while (waitpid(pid, &status, WNOHANG) == 0)
    if (poll(&watched, 1, 50) > 0 && read(terminal, bytes, sizeof bytes) < 0) break;
  fcntl(person, F_SETFL, O_NONBLOCK);
  ssize_t got = read(person, bytes, sizeof bytes);
  printf("typed: %.*s\n", got > 0 ? (int)got : 0, bytes);
  return 0;
}

static int rename_one(char **words) {
  if (rename(words[0], words[1]) != 0) die("rename");
  return 0;
}

static int exchange(char **words) {
  if (renameat2(AT_FDCWD, words[0], AT_FDCWD, words[1], RENAME_EXCHANGE) != 0) die("exchange");
  return 0;
}

/* Past whatever looked at the path: the file itself is linked. */
static int link_descriptor(char **words) {
  char path[64];
  int fd = open(words[0], O_RDONLY);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (fd < 0 || linkat(AT_FDCWD, path, AT_FDCWD, words[1], AT_SYMLINK_FOLLOW) != 0) die("linkat");
  return 0;
}

/* A program without a file: neither its path nor its name can be judged. */
static int from_memory(char **words) {
  char bytes[65536];
  int from = open(words[0], O_RDONLY), memory = memfd_create("true", MFD_CLOEXEC);
  if (from < 0 || memory < 0) die(words[0]);
  for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
    if (write(memory, bytes, (size_t)got) != got) die("memfd");
  fexecve(memory, words, (char *[]){NULL});
  die("fexecve");
}

/* Gives a descriptor of a file to everyone who connects. */
static int give_descriptor(char **words) {
  struct sockaddr_un address;
  socklen_t length = local_address(words[0], &address);
  int listening = socket(AF_UNIX, SOCK_STREAM, 0), given = open(words[1], O_RDONLY);
  if (given < 0 || bind(listening, (struct sockaddr *)&address, length) != 0 || listen(listening, 5) != 0)
    die(words[0]);
  puts("listening");
  fflush(stdout);
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
  memcpy(CMSG_DATA(&control.header), &given, sizeof given);
  struct iovec byte = {"", 1};
  struct msghdr message = {
      .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  for (int peer; (peer = accept(listening, NULL, NULL)) >= 0; close(peer)) sendmsg(peer, &message, 0);
  return 1;
}

static int take_descriptor(char **words) {
  struct sockaddr_un address;
  socklen_t length = local_address(words[0], &address);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0), taken;
  if (connect(fd, (struct sockaddr *)&address, length) != 0) die(words[0]);
  char byte, room[CMSG_SPACE(sizeof(int))];
  struct iovec piece = {&byte, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(fd, &message, 0) != 1 || !CMSG_FIRSTHDR(&message)) die("recvmsg");
  memcpy(&taken, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof taken);
  lseek(taken, 0, SEEK_SET);
  show(taken);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(char **words);
} attacks[] = {
    {"hold", hold},
    {"memory-file", read_memory_file},
    {"vm-read", read_other_memory},
    {"trace", trace},
    {"steal-descriptor", steal_descriptor},
    {"shared-memory", shared_memory},
    {"with-key", with_key},
    {"read-key", read_key},
    {"connect", connect_local},
    {"serve", serve_local},
    {"nested", nested},
    {"chroot", break_out_of_chroot},
    {"bind", bind_mount},
    {"remount", remount_writable},
    {"device", make_device},
    {"make-handle", make_handle},
    {"open-handle", open_handle},
    {"type", type_into_terminal},
    {"terminal", on_terminal},
    {"rename", rename_one},
    {"exchange", exchange},
    {"link-descriptor", link_descriptor},
    {"from-memory", from_memory},
    {"give-descriptor", give_descriptor},
    {"take-descriptor", take_descriptor},
};

int main(int count, char **words) {
  for (size_t i = 0; count > 1 && i < sizeof attacks / sizeof *attacks; i++)
    if (strcmp(words[1], attacks[i].name) == 0) return attacks[i].run(words + 2);
  fprintf(stderr, "attack: expected an attack\n");
  return 2;
}
