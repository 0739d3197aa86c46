/*
 * Where kept jails are found: STORE/jail/KEY/FORK.socket, KEY being the FNV-1a hash of the workspace's path. A hash
 * that two paths share does no harm: the kept jail looks at the directory it is asked for.
 */
#include "kept-jails.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int open_kept_jails(void) {
  char path[PATH_MAX];
  const char *data = getenv("CTX_DATA"), *shared = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  int length;
  /* As Node has it: a relative place is none, and what stands there is the workspace's. */
  if (data && *data && *data != '/') return -1;
  if (data && *data)
    length = snprintf(path, sizeof path, "%s/jail", data);
  else if (shared && *shared == '/')
    length = snprintf(path, sizeof path, "%s/ctxfs/jail", shared);
  else if (home && *home == '/')
    length = snprintf(path, sizeof path, "%s/.local/share/ctxfs/jail", home);
  else
    return -1;
  return length < (int)sizeof path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static uint64_t hash(const char *bytes, size_t size) {
  uint64_t value = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++) value = (value ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  return value;
}

/* What we say has our environment in it: it is for a process of our own user. */
static bool is_ours(int handle) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(handle, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* Through the directory's descriptor: the path of a socket may be longer than an address has room for. */
static int connect_to(int directory, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name) >=
      (int)sizeof address.sun_path)
    return -1;
  int handle = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (handle >= 0 && connect(handle, (struct sockaddr *)&address, sizeof address) == 0 && is_ours(handle))
    return handle;
  if (handle >= 0) close(handle);
  return -1; /* nobody listens any more, or somebody else */
}

static bool is_socket_name(const char *name) {
  size_t length = strlen(name);
  return length > 7 && strcmp(name + length - 7, ".socket") == 0;
}

static bool each_of(int directory, bool (*use)(int, void *), void *with) {
  DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bool used = false;
  for (struct dirent *entry; entries && !used && (entry = readdir(entries));) {
    int handle = is_socket_name(entry->d_name) ? connect_to(directory, entry->d_name) : -1;
    used = handle >= 0 && use(handle, with);
    if (handle >= 0) close(handle);
  }
  if (entries) closedir(entries);
  return used;
}

bool each_kept_jail(bool (*use)(int socket, void *with), void *with) {
  char where[PATH_MAX], key[17];
  int jails = open_kept_jails();
  if (jails < 0 || !getcwd(where, sizeof where)) return false;
  bool used = false;
  for (size_t length = strlen(where); !used && length > 0; length--) {
    if (length > 1 && where[length] && where[length] != '/') continue;
    snprintf(key, sizeof key, "%016llx", (unsigned long long)hash(where, length));
    int directory = openat(jails, key, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    used = directory >= 0 && each_of(directory, use, with);
    if (directory >= 0) close(directory);
  }
  close(jails);
  return used;
}
