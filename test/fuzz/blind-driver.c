/*
 * Where there is no clang: the same target without a compass. Seeds are taken from the files of a directory and changed
 * at random, by a generator whose seed is given, so that a run can be repeated. Usage: DIRECTORY SEED MILLISECONDS
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_SEEDS = 64, MOST_BYTES = 1 << 18 };
static struct {
  uint8_t *bytes;
  size_t size;
} seeds[MOST_SEEDS];
static size_t seed_count;

static uint64_t state;

static uint64_t next_number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void load(const char *directory) {
  DIR *list = opendir(directory);
  for (struct dirent *entry; list && (entry = readdir(list)) && seed_count < MOST_SEEDS;) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
    if (!file) continue;
    seeds[seed_count].bytes = malloc(MOST_BYTES);
    seeds[seed_count].size = fread(seeds[seed_count].bytes, 1, MOST_BYTES / 2, file);
    seed_count++;
    fclose(file);
  }
  if (list) closedir(list);
}

static size_t change(uint8_t *bytes, size_t size) {
  static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff};
  for (uint64_t times = 1 + next_number() % 6; times > 0 && size > 0; times--) {
    size_t at = next_number() % size;
    switch (next_number() % 5) {
    case 0:
      bytes[at] ^= (uint8_t)(1u << next_number() % 8);
      break;
    case 1:
      bytes[at] = telling[next_number() % sizeof telling];
      break;
    case 2:
      size = at;
      break;
    case 3: {
      size_t length = next_number() % 64;
      if (at + length <= size) memmove(bytes + at, bytes + next_number() % (size - length + 1), length);
      break;
    }
    default:
      memset(bytes + at, telling[next_number() % sizeof telling], size - at < 4 ? size - at : 4);
    }
  }
  return size;
}

static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  load(words[1]);
  state = strtoull(words[2], NULL, 10) * 2 + 1;
  long end = milliseconds() + atol(words[3]), runs = 0;
  static uint8_t bytes[MOST_BYTES];
  for (size_t i = 0; i < seed_count; i++) LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
  for (; seed_count > 0 && milliseconds() < end; runs++) {
    size_t chosen = next_number() % seed_count, size = seeds[chosen].size;
    memcpy(bytes, seeds[chosen].bytes, size);
    LLVMFuzzerTestOneInput(bytes, change(bytes, size));
  }
  fprintf(stderr, "%ld runs\n", runs);
  return runs > 0 ? 0 : 1;
}
