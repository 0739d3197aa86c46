/* A directory of ours, away with all that is in it, as far as it can be. */
#include "place/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

bool remove_tree(int parent, const char *name) {
  struct listing listing;
  struct stat above, below;
  int fd = open_directory(parent, name);
  if (fd < 0) return false;
  bool here = fstat(parent, &above) == 0 && fstat(fd, &below) == 0 && above.st_dev == below.st_dev;
  if (here) (void)!fchmod(fd, 0700);
  if (here && list_directory(fd, &listing) == 0) {
    for (size_t i = 0; i < listing.count; i++) {
      const struct name *each = &listing.names[i];
      if (each->type == DT_DIR || unlinkat(fd, each->text, 0) != 0) (void)remove_tree(fd, each->text);
    }
    free_listing(&listing);
  }
  close(fd);
  return here && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}
