#include "keeper-place.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool keeper_key(const char *program, char key[KEY_SIZE]) {
  static const char *const directories[] = {".", "../native"};
  char path[PATH_MAX], text[PATH_MAX + 64];
  const char *slash = strrchr(program, '/');
  if (!slash || snprintf(path, sizeof path, "%.*s", (int)(slash - program), program) >= (int)sizeof path ||
      !realpath(path, text))
    return false;
  size_t size = strlen(text), own = size;
  for (size_t i = 0; i < 2; i++) {
    struct stat status;
    if (snprintf(path, sizeof path, "%.*s/%s", (int)own, text, directories[i]) >= (int)sizeof path ||
        stat(path, &status) != 0)
      return false;
    size += (size_t)snprintf(text + size, sizeof text - size, " %lld",
                             status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec);
  }
  snprintf(key, KEY_SIZE, "%016llx", (unsigned long long)hash(text, size));
  return true;
}

/* Not through a link, and no one else's: what is said there is run, and has the environment in it. */
int open_own(int above, const char *name, bool make) {
  struct stat status;
  if (make && mkdirat(above, name, 0700) != 0 && errno != EEXIST) return -1;
  int directory = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory >= 0 && fstat(directory, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
    return directory;
  if (directory >= 0) close(directory);
  return -1;
}

bool read_keeper_word(int socket, char word[WORD_SIZE]) {
  static const char before[] = "/memfd:", behind[] = " (deleted)";
  enum { START = sizeof before - 1, LENGTH = WORD_SIZE - 1 };
  char path[64], target[START + WORD_SIZE + sizeof behind];
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer.pid, WORD_DESCRIPTOR);
  const ssize_t length = readlink(path, target, sizeof target);
  if (length != START + LENGTH + sizeof behind - 1 || memcmp(target, before, START) != 0) return false;
  memcpy(word, target + START, LENGTH);
  word[LENGTH] = 0;
  return true;
}

void own_traits(char text[TRAITS_SIZE]) {
  snprintf(text, TRAITS_SIZE, "%d %d %d", prctl(PR_GET_SECUREBITS), personality(0xffffffff), prctl(PR_GET_TIMERSLACK));
}
