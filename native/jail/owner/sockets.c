#include "owner/sockets.h"
#include "context.h"
#include "inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_lost_lifeline(void) {
  struct pollfd lifeline = {.fd = FD_LIFELINE, .events = POLLIN};
  return poll(&lifeline, 1, 0) > 0;
}

/* What is in it is ours: the jail sees it read-only. */
static void remove_content(int directory) {
  int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = again < 0 ? NULL : fdopendir(again);
  if (!entries) return;
  for (struct dirent *entry; (entry = readdir(entries));)
    if (entry->d_name[0] != '.') unlinkat(directory, entry->d_name, 0);
  closedir(entries);
}

/* Found by what it is: its name was never told here. */
static void remove_directory(int directory) {
  struct stat wanted, about;
  int parent = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = parent < 0 || fstat(directory, &wanted) != 0 ? NULL : fdopendir(parent);
  if (!entries) return;
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (entry->d_name[0] == '.' || fstatat(parent, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (about.st_dev != wanted.st_dev || about.st_ino != wanted.st_ino) continue;
    unlinkat(parent, entry->d_name, AT_REMOVEDIR);
    break;
  }
  closedir(entries);
}

void remove_sockets(const struct jail_context *jail) {
  if (jail->sockets < 0 || !has_lost_lifeline()) return;
  remove_content(jail->sockets);
  remove_directory(jail->sockets);
}
