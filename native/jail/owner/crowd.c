#include "owner/crowd.h"
#include "jail.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A directory has a link for each directory in it, and two more. One that is gone by now counts: it may have left a
 * child.
 */
static uint32_t threads_of(int proc, const char *process) {
  char path[300];
  struct stat about;
  snprintf(path, sizeof path, "%s/task", process);
  return fstatat(proc, path, &about, 0) == 0 && about.st_nlink > 2 ? (uint32_t)about.st_nlink - 2 : 1;
}

uint32_t count_threads(void) {
  uint32_t sum = 0;
  DIR *processes = opendir("/proc");
  if (!processes) fail("/proc");
  for (struct dirent *entry; (entry = readdir(processes));)
    if (isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, "1") != 0)
      sum += threads_of(dirfd(processes), entry->d_name);
  closedir(processes);
  return sum;
}
