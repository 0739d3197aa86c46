/* A directory of ours, away with all that is in it, as far as it can be. What is mounted in it is somebody else's. */
#include "place/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

bool remove_tree(int parent, const char *name) {
  struct listing listing;
  int fd = open_same_mount(parent, name);
  if (fd < 0) return false;
  (void)!fchmod(fd, 0700);
  if (list_directory(fd, &listing) == 0) {
    for (size_t i = 0; i < listing.count; i++) {
      const struct name *each = &listing.names[i];
      if (each->type == DT_DIR || unlinkat(fd, each->text, 0) != 0) (void)remove_tree(fd, each->text);
    }
    free_listing(&listing);
  }
  close(fd);
  return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}
