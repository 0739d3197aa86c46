#include "alike.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT = 8192, NAME = 64, IOPRIO_WHO_PROCESS = 1 };

/* Behind the name in /proc/PID/stat, the first of which is 0: nice value, real-time priority, scheduling policy. */
enum { NICE = 16, PRIORITY = 37, POLICY = 38 };

/* Both whole; an error that both have is the same, and -1 is one that only one has. */
struct texts {
  char one[TEXT], other[TEXT];
};

static int read_one(pid_t process, const char *name, char text[TEXT]) {
  char path[NAME + 32];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  ssize_t size = 0, got;
  while ((got = read(file, text + size, (size_t)(TEXT - 1 - size))) > 0) size += got;
  const int error = got < 0 ? errno : size == TEXT - 1 ? EFBIG : 0;
  close(file);
  text[size] = 0;
  return error != 0 ? -error : (int)size;
}

/* Its size, or an error below zero where both have that one; -EXDEV where one of them differs from the other. */
static int read_both(pid_t one, pid_t other, const char *name, struct texts *texts) {
  const int size = read_one(one, name, texts->one), others = read_one(other, name, texts->other);
  if (size < 0 || others < 0) return size == others ? size : -EXDEV;
  return size;
}

static bool has(const char *names, const char *name, size_t length) {
  char wanted[NAME + 2];
  if (length >= NAME) return false;
  snprintf(wanted, sizeof wanted, " %.*s ", (int)length, name);
  return strstr(names, wanted) != NULL;
}

/* The next line whose name is among them. */
static const char *next_field(const char *text, const char *names) {
  for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
    const size_t length = strcspn(text, ":\n");
    if (text[length] == ':' && has(names, text, length)) return text;
  }
  return NULL;
}

static bool same_fields(const struct texts *texts, const char *names) {
  const char *one = next_field(texts->one, names), *other = next_field(texts->other, names);
  if (!one) return false;
  while (one && other) {
    const size_t length = strcspn(one, "\n");
    if (length != strcspn(other, "\n") || memcmp(one, other, length) != 0) return false;
    one = next_field(one + length, names);
    other = next_field(other + length, names);
  }
  return !one && !other;
}

/* Node raises the soft limit of open files to the hard one when it starts: the hard one alone decides. */
static void forget_soft_files(char *text) {
  static const char files[] = "Max open files";
  char *line = strstr(text, files);
  if (!line) return;
  line += sizeof files - 1;
  line += strspn(line, " ");
  memset(line, ' ', strcspn(line, " \n"));
}

static bool same_limits(struct texts *texts) {
  forget_soft_files(texts->one);
  forget_soft_files(texts->other);
  return strcmp(texts->one, texts->other) == 0;
}

static const char *field_of(const char *text, int wanted) {
  const char *behind = strrchr(text, ')');
  if (!behind) return NULL;
  behind += 1 + (behind[1] == ' ');
  for (; wanted > 0 && *behind; wanted--) behind += strcspn(behind, " "), behind += *behind == ' ';
  return *behind ? behind : NULL;
}

static bool same_scheduling(const struct texts *texts) {
  static const int fields[] = {NICE, PRIORITY, POLICY};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const char *one = field_of(texts->one, fields[i]), *other = field_of(texts->other, fields[i]);
    const size_t length = one ? strcspn(one, " \n") : 0;
    if (!one || !other || length != strcspn(other, " \n") || memcmp(one, other, length) != 0) return false;
  }
  return true;
}

static bool same_root(pid_t one, pid_t other) {
  char path[NAME];
  struct stat root, others;
  snprintf(path, sizeof path, "/proc/%d/root/", (int)one);
  if (stat(path, &root) != 0) return false;
  snprintf(path, sizeof path, "/proc/%d/root/", (int)other);
  return stat(path, &others) == 0 && root.st_dev == others.st_dev && root.st_ino == others.st_ino;
}

static bool same_namespace(pid_t one, pid_t other, const char *name, size_t length) {
  char path[NAME * 2], texts[2][NAME];
  const pid_t processes[] = {one, other};
  ssize_t sizes[2];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%d/ns/%.*s", (int)processes[i], (int)length, name);
    sizes[i] = readlink(path, texts[i], NAME);
    if (sizes[i] <= 0 || sizes[i] == NAME) return false;
  }
  return sizes[0] == sizes[1] && memcmp(texts[0], texts[1], (size_t)sizes[0]) == 0;
}

static bool same_namespaces(pid_t one, pid_t other, const char *names) {
  size_t many = 0;
  for (names += strspn(names, " "); *names; names += strspn(names, " "), many++) {
    const size_t length = strcspn(names, " ");
    if (length >= NAME || !same_namespace(one, other, names, length)) return false;
    names += length;
  }
  return many > 0;
}

/* One that neither has, or may be read of neither, does not tell them apart: but for the group, which is known. */
static bool same_files(pid_t one, pid_t other, const char *names, struct texts *texts) {
  for (names += strspn(names, " "); *names; names += strspn(names, " ")) {
    char name[NAME];
    const size_t length = strcspn(names, " ");
    if (length >= NAME) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, names);
    const int size = read_both(one, other, name, texts);
    if (size == -EXDEV || (size < 0 && strcmp(name, "cgroup") == 0)) return false;
    if (size >= 0 && strcmp(texts->one, texts->other) != 0) return false;
    names += length;
  }
  return true;
}

bool alike(pid_t one, pid_t other, const struct traits *traits) {
  static struct texts texts;
  return syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, one) == syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, other) &&
         read_both(one, other, "status", &texts) > 0 && same_fields(&texts, traits->fields) &&
         read_both(one, other, "stat", &texts) > 0 && same_scheduling(&texts) &&
         read_both(one, other, "limits", &texts) > 0 && same_limits(&texts) &&
         same_files(one, other, traits->files, &texts) && same_namespaces(one, other, traits->namespaces) &&
         same_root(one, other);
}
