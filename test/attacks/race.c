/*
 * Races. A thread exchanges two names as fast as it can, a directory and a link to another one, while somebody uses a
 * path through them: the process that checks first and opens later is led astray.
 *
 *   race swap A B MILLISECONDS          only exchanges
 *   race read A B PATH TOKEN MILLISECONDS   opens PATH for reading until it finds TOKEN there; prints `won`
 *   race write A B PATH TEXT FILE MILLISECONDS  writes TEXT to PATH until FILE begins with it; prints `won`
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *one, *other;

/* Leaves the processor to those who are raced with, and is short against what they do between two looks. */
enum { PAUSE_MICROSECONDS = 20 };

static void *exchange(void *unused) {
  for (;; usleep(PAUSE_MICROSECONDS)) /* An apply may be about to put one of them there. */
    if (renameat2(AT_FDCWD, one, AT_FDCWD, other, 2 /* exchange */) != 0 && errno != ENOENT) {
      perror("renameat2");
      return unused;
    }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool begins_with(const char *path, int flags, const char *text) {
  char bytes[256] = {0};
  int fd = open(path, O_RDONLY | flags);
  bool found = fd >= 0 && read(fd, bytes, sizeof bytes - 1) > 0 && strncmp(bytes, text, strlen(text)) == 0;
  if (fd >= 0) close(fd);
  return found;
}

/* As a careful program does: look whether the directory is one, then use the path. */
static bool looks_safe(const char *directory) {
  struct stat about;
  return lstat(directory, &about) == 0 && S_ISDIR(about.st_mode);
}

static void write_once(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_NOFOLLOW);
  if (fd < 0) return;
  if (pwrite(fd, text, strlen(text), 0) < 0) perror(path);
  close(fd);
}

int main(int count, char **words) {
  bool swapping = count == 5 && strcmp(words[1], "swap") == 0;
  bool reading = count == 7 && strcmp(words[1], "read") == 0;
  bool writing = count == 8 && strcmp(words[1], "write") == 0;
  if (!swapping && !reading && !writing) {
    fprintf(stderr, "race: expected a race\n");
    return 2;
  }
  one = words[2];
  other = words[3];
  double end = seconds() + atof(words[count - 1]) / 1000;
  pthread_t thread;
  if (pthread_create(&thread, NULL, exchange, NULL) != 0) return 1;
  while (seconds() < end) {
    if (swapping) {
      usleep(1000);
      continue;
    }
    if (!looks_safe(one)) continue;
    if (writing) write_once(words[4], words[5]);
    if (reading ? begins_with(words[4], O_NOFOLLOW, words[5]) : begins_with(words[6], 0, words[5])) {
      puts("won");
      return 0;
    }
  }
  return 1;
}
