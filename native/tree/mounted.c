/*
 * A fork's directory as its commands have it, for what is to be put there while they run: into the overlay, never into
 * its upper directory, which the kernel alone may change while that is mounted.
 */
#include "live-mount.h"
#include "tree.h"

#include <errno.h>

int open_mounted(const struct options *options) {
  const struct live_mount wanted = {.target = options->to, .upper = options->mounted};
  int processes = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int tree = -1;
  for (size_t i = 0; i < options->holders.count && tree < 0; i++)
    tree = clone_live_mount(processes, (pid_t)strtol(options->holders.items[i], NULL, 10), &wanted);
  close(processes);
  /* Open until this process ends: the clone is mounted nowhere, and ends with its descriptor. */
  int root = tree < 0 ? -1 : open_directory(tree, ".");
  if (root < 0) fail(tree < 0 ? ESRCH : errno, "open", options->to);
  return root;
}
