#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool store_path(char path[PATH_MAX], const char *below) {
  const char *data = getenv("CTX_DATA"), *shared = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  int length;
  /* As Node has it: a relative place is none, and what is there is the workspace's. */
  if (data && *data && *data != '/') return false;
  if (data && *data)
    length = snprintf(path, PATH_MAX, "%s%s", data, below);
  else if (shared && *shared == '/')
    length = snprintf(path, PATH_MAX, "%s/ctxfs%s", shared, below);
  else if (home && *home == '/')
    length = snprintf(path, PATH_MAX, "%s/.local/share/ctxfs%s", home, below);
  else
    return false;
  return length < PATH_MAX;
}

uint64_t hash(const char *bytes, size_t size) {
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
int connect_to(int directory, const char *name, int type) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name) >=
      (int)sizeof address.sun_path)
    return -1;
  int handle = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (handle >= 0 && connect(handle, (struct sockaddr *)&address, sizeof address) == 0 && is_ours(handle))
    return handle;
  if (handle >= 0) close(handle);
  return -1;
}
