#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool find_node(char path[PATH_MAX], struct stat *found) {
  const char *rest = getenv("PATH");
  while (rest && *rest) {
    size_t length = strcspn(rest, ":");
    /* A place without a name is the directory where the caller is. */
    if (snprintf(path, PATH_MAX, "%.*s%snode", (int)length, rest, length > 0 ? "/" : "") < PATH_MAX &&
        access(path, X_OK) == 0 && stat(path, found) == 0 && S_ISREG(found->st_mode))
      return true;
    rest += length + (rest[length] == ':');
  }
  return false;
}

/* Not execvp alone: that one ends its search at a place that is a circle of links, where every shell goes on. */
void start_node(char **words) {
  char path[PATH_MAX];
  struct stat found;
  if (find_node(path, &found)) execv(path, words);
  execvp(words[0], words);
}
