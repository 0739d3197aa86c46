/* Hard links inside one tree: a table of inodes with more than one name. */
#include "tree.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 65536
static struct link *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t settled = PTHREAD_COND_INITIALIZER;

static struct link **bucket_of(const struct stat *status) {
  return &buckets[(status->st_ino * 0x9e3779b97f4a7c15u) >> 48];
}

static struct link *find_link(const struct stat *status) {
  struct link *link = *bucket_of(status);
  while (link != NULL && (link->identity.inode != status->st_ino || link->identity.device != status->st_dev))
    link = link->next;
  return link;
}

bool is_being_copied(const struct stat *status) {
  pthread_mutex_lock(&lock);
  struct link *link = find_link(status);
  bool copying = link != NULL && link->copying;
  pthread_mutex_unlock(&lock);
  return copying;
}

struct link *claim_link(const struct stat *status) {
  struct link **bucket = bucket_of(status);
  pthread_mutex_lock(&lock);
  struct link *link = find_link(status);
  if (link == NULL) {
    link = allocate(sizeof *link);
    link->identity = (struct identity){status->st_dev, status->st_ino};
    link->next = *bucket;
    *bucket = link;
  }
  while (link->copying) pthread_cond_wait(&settled, &lock); /* whoever copies it waits for nobody */
  link->copying = link->path == NULL;
  pthread_mutex_unlock(&lock);
  return link;
}

void settle_link(struct link *link, char *path, const struct stat *status) {
  pthread_mutex_lock(&lock);
  free(link->path);
  link->path = path;
  link->status = *status;
  link->copying = false;
  pthread_cond_broadcast(&settled);
  pthread_mutex_unlock(&lock);
}
