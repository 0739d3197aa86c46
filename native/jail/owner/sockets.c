#include "owner/sockets.h"
#include "context.h"
#include "inherited.h"
#include "report.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIFELINE_MILLISECONDS = 100 };

static bool has_lost_lifeline(int milliseconds) {
  struct pollfd lifeline = {.fd = FD_LIFELINE, .events = POLLIN};
  return poll(&lifeline, 1, milliseconds) > 0 && !(lifeline.revents & POLLNVAL);
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

static void remove_sockets(const struct jail_context *jail, int milliseconds) {
  if (!has_lost_lifeline(milliseconds)) return;
  remove_content(jail->sockets);
  remove_directory(jail->sockets);
}

/* What a killed process served ends a little before the lifeline may. */
static void remove_sockets_of_failed(void *jail) {
  remove_sockets(jail, LIFELINE_MILLISECONDS);
}

void keep_sockets(struct jail_context *jail, int descriptor) {
  jail->sockets = fcntl(descriptor, F_DUPFD_CLOEXEC, FD_FIRST_OTHER);
  if (jail->sockets >= 0) before_giving_up(LAST_SOCKETS, remove_sockets_of_failed, jail);
}

void end_sockets(const struct jail_context *jail) {
  if (jail->sockets >= 0) remove_sockets(jail, 0);
}
