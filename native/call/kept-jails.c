/*
 * Where kept jails are found: STORE/jail/KEY/FORK.socket, KEY being the FNV-1a hash of the workspace's path. A hash
 * that two paths share does no harm: the kept jail looks at the directory it is asked for.
 */
#include "kept-jails.h"
#include "store.h"

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
  return store_path(path, "/jail") ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static bool is_socket_name(const char *name) {
  size_t length = strlen(name);
  return length > 7 && strcmp(name + length - 7, ".socket") == 0;
}

static bool each_of(int directory, bool (*use)(int, void *), void *with) {
  DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bool used = false;
  for (struct dirent *entry; entries && !used && (entry = readdir(entries));) {
    int handle = is_socket_name(entry->d_name) ? connect_to(directory, entry->d_name, SOCK_STREAM) : -1;
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
