#include "owner/status.h"
#include "context.h"
#include "jail.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned long long status_of(const struct host *host, pid_t process, const char *field, int base) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "%d/status", (int)process);
  int file = openat(host->processes, path, O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (got <= 0) return 0;
  text[got] = 0;
  const char *found = strstr(text, field);
  return found ? strtoull(found + strlen(field), NULL, base) : 0;
}
