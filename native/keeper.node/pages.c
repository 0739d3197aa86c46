#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of Linux 5.14; not in every header. */
enum { POPULATE_READ = 22, POPULATE_WRITE = 23 };

/* What is left out beyond that is faulted in when it is used. A mapping of more than so many pages is reserved room. */
enum { MOST_RANGES = 4096, MOST_PAGES = 1 << 14, BATCH = 512 };

struct range {
  uintptr_t from;
  size_t size;
  int advice;
};

static struct {
  size_t count;
  struct range list[MOST_RANGES];
} * known;

/* Of /proc/PID/pagemap; the number of the page itself is not to be seen, and not needed. */
static const uint64_t present = 1ULL << 63, of_file = 1ULL << 61, own = 1ULL << 56;

bool pages_expect(void) {
  void *memory = mmap(NULL, sizeof *known, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  known = memory;
  return true;
}

static void note(uintptr_t page, size_t size, int advice) {
  struct range *last = known->count > 0 ? &known->list[known->count - 1] : NULL;
  if (last && last->advice == advice && last->from + last->size == page)
    last->size += size;
  else if (known->count < MOST_RANGES)
    known->list[known->count++] = (struct range){.from = page, .size = size, .advice = advice};
}

/* Of memory that is written to, what is this copy's own by now; of files, what has been read. */
static void look_at(int pages, uintptr_t from, uintptr_t to, bool writable) {
  const size_t size = (size_t)sysconf(_SC_PAGESIZE);
  uint64_t entries[BATCH];
  while (from < to) {
    const size_t left = (to - from) / size, wanted = left < BATCH ? left : BATCH;
    const ssize_t got = pread(pages, entries, wanted * sizeof *entries, (off_t)(from / size * sizeof *entries));
    if (got <= 0) return;
    const size_t many = (size_t)got / sizeof *entries;
    for (size_t i = 0; i < many; i++, from += size) {
      if (!(entries[i] & present)) continue;
      if (writable && (entries[i] & own) && !(entries[i] & of_file)) note(from, size, POPULATE_WRITE);
      if (!writable && (entries[i] & of_file)) note(from, size, POPULATE_READ);
    }
  }
}

void pages_learn(void) {
  FILE *maps = fopen("/proc/self/maps", "re");
  const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const unsigned long most = (unsigned long)MOST_PAGES * (unsigned long)sysconf(_SC_PAGESIZE);
  char *line = NULL;
  size_t room = 0;
  known->count = 0;
  while (maps && pages >= 0 && getline(&line, &room, maps) > 0) {
    unsigned long from, to;
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[0] == 'r' && rights[3] == 'p' &&
        to - from <= most)
      look_at(pages, from, to, rights[1] == 'w');
  }
  free(line);
  if (maps) fclose(maps);
  if (pages >= 0) close(pages);
}

void pages_prepare(void) {
  for (size_t i = 0; known && i < known->count; i++) {
    const struct range *range = &known->list[i];
    /* What has been unmapped or protected since is left as it is. */
    if (madvise((void *)range->from, range->size, range->advice) != 0 && errno == EINVAL) return;
  }
}
