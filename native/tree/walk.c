/*
 * A parallel walk of one tree. The unit of work is a directory to open, or a slice of a large directory's entries, so
 * that a flat million of files is shared out as well as a deep tree. Work is taken last-in-first-out: the number of
 * directories held open then follows the depth, not the width. Results land in nodes, in sorted order, no matter who
 * did it.
 *
 * A directory keeps its source fd while somebody still needs to open something in it (`source_uses`), and is left
 * (times set, target closed) when its whole subtree is done (`pending`).
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLICE 256

struct task {
  struct directory *directory;
  size_t from, to; /* a slice of its nodes; from == to: the directory that node `from` is, to be opened */
};

static struct queue {
  pthread_mutex_t lock;
  pthread_cond_t change;
  struct task *tasks;
  size_t count, capacity, busy;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void push(struct task task) {
  pthread_mutex_lock(&queue.lock);
  if (queue.count == queue.capacity) {
    queue.capacity = queue.capacity * 2 + 64;
    queue.tasks = reallocate(queue.tasks, queue.capacity * sizeof *queue.tasks);
  }
  queue.tasks[queue.count++] = task;
  pthread_cond_signal(&queue.change);
  pthread_mutex_unlock(&queue.lock);
}

char *node_path(const struct directory *directory, const char *name) {
  size_t length = strlen(name);
  for (const struct directory *at = directory; at->node != NULL; at = at->parent) length += strlen(at->node->name) + 1;
  char *path = allocate(length + 1);
  size_t step = strlen(name);
  length -= step;
  memcpy(path + length, name, step);
  for (const struct directory *at = directory; at->node != NULL; at = at->parent) {
    step = strlen(at->node->name);
    length -= step + 1;
    memcpy(path + length, at->node->name, step);
    path[length + step] = '/';
  }
  return path;
}

void set_node(struct node *node, const struct stat *status) {
  node->mode = status->st_mode;
  node->uid = status->st_uid;
  node->gid = status->st_gid;
  node->size = S_ISDIR(status->st_mode) ? 0 : (uint64_t)status->st_size;
  node->inode = status->st_ino;
  node->modified = nanoseconds(status->st_mtim);
  node->changed = nanoseconds(status->st_ctim);
}

static void release_source(struct directory *directory) {
  if (atomic_fetch_sub(&directory->source_uses, 1) == 1) close(directory->source);
}

static void finish(struct walk *walk, struct directory *directory) {
  while (directory != NULL && atomic_fetch_sub(&directory->pending, 1) == 1) {
    if (walk->leave != NULL) walk->leave(walk, directory);
    directory = directory->parent;
  }
}

static void queue_child(struct directory *directory, size_t index) {
  atomic_fetch_add(&directory->source_uses, 1);
  atomic_fetch_add(&directory->pending, 1);
  push((struct task){directory, index, index});
}

static void visit_slice(struct walk *walk, struct directory *directory, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    struct node *node = &directory->nodes[i];
    if (node->hint == DT_DIR || walk->visit(walk, directory, node)) queue_child(directory, i);
  }
}

static void expand(struct walk *walk, struct directory *directory) {
  int error = list_directory(directory->source, &directory->listing);
  if (error != 0) {
    if (directory->node == NULL) fail(error, "list", walk->options->root);
    walk->unreadable(walk, directory->parent, directory->node, error);
  }
  size_t count = directory->listing.count;
  directory->nodes = allocate(count * sizeof *directory->nodes);
  for (size_t i = 0; i < count; i++) {
    directory->nodes[i].name = directory->listing.names[i].text;
    directory->nodes[i].hint = directory->listing.names[i].type;
  }
  free(directory->listing.names);
  directory->listing.names = NULL;
  size_t from = 0;
  for (; count - from > SLICE; from += SLICE) {
    atomic_fetch_add(&directory->source_uses, 1);
    atomic_fetch_add(&directory->pending, 1);
    push((struct task){directory, from, from + SLICE});
  }
  visit_slice(walk, directory, from, count);
  release_source(directory);
  finish(walk, directory);
}

static bool is_skipped(const struct options *options, const struct stat *status) {
  for (size_t i = 0; i < options->skip_count; i++)
    if (options->skips[i].device == status->st_dev && options->skips[i].inode == status->st_ino) return true;
  return false;
}

static struct directory *new_directory(struct directory *parent, struct node *node, int source) {
  struct directory *directory = allocate(sizeof *directory);
  directory->parent = parent;
  directory->node = node;
  directory->source = source;
  directory->target = -1;
  atomic_init(&directory->source_uses, 1);
  atomic_init(&directory->pending, 1);
  return directory;
}

static void open_child(struct walk *walk, struct directory *parent, struct node *node) {
  struct stat status;
  int source = open_directory(parent->source, node->name);
  if (source < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    fail(errno, "open", node_path(parent, node->name));
  if (source < 0 && (errno == ENOTDIR || errno == ELOOP)) {
    /* Swapped since it was listed; if it is swapped back meanwhile it counts as gone. */
    if (walk->visit(walk, parent, node)) node->mode = 0;
  } else if (source < 0 && errno != ENOENT) {
    int error = errno;
    if (fstatat(parent->source, node->name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
      set_node(node, &status);
      walk->unreadable(walk, parent, node, error);
    } else if (errno != ENOENT) {
      fail(errno, "stat", node_path(parent, node->name));
    }
  }
  if (source >= 0 && fstat(source, &status) != 0) fail(errno, "stat", node_path(parent, node->name));
  bool entered = source >= 0 && !is_skipped(walk->options, &status);
  release_source(parent);
  if (!entered) {
    if (source >= 0) close(source);
    finish(walk, parent);
    return;
  }
  set_node(node, &status);
  node->size = mark_attributes(source);
  struct directory *directory = new_directory(parent, node, source);
  directory->status = status;
  node->directory = directory;
  if (walk->enter != NULL) walk->enter(walk, directory);
  expand(walk, directory);
}

static void run_task(struct walk *walk, struct task task) {
  struct directory *directory = task.directory;
  if (task.from == task.to) {
    open_child(walk, directory, &directory->nodes[task.from]);
    return;
  }
  visit_slice(walk, directory, task.from, task.to);
  release_source(directory);
  finish(walk, directory);
}

static void *work(void *argument) {
  struct walk *walk = argument;
  pthread_mutex_lock(&queue.lock);
  for (;;) {
    while (queue.count == 0 && queue.busy > 0) pthread_cond_wait(&queue.change, &queue.lock);
    if (queue.count == 0) break;
    struct task task = queue.tasks[--queue.count];
    queue.busy++;
    pthread_mutex_unlock(&queue.lock);
    run_task(walk, task);
    pthread_mutex_lock(&queue.lock);
    queue.busy--;
  }
  pthread_cond_broadcast(&queue.change);
  pthread_mutex_unlock(&queue.lock);
  return NULL;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return nanoseconds(time);
}

/* False where there is more to do than that. No other thread is there yet. */
static bool work_alone(struct walk *walk) {
  const int64_t end = now() + walk->alone_nanoseconds;
  while (queue.count > 0 && now() < end) run_task(walk, queue.tasks[--queue.count]);
  return queue.count == 0;
}

struct directory *walk_tree(struct walk *walk, int root, int target) {
  struct directory *directory = new_directory(NULL, NULL, fcntl(root, F_DUPFD_CLOEXEC, 0));
  directory->target = target;
  if (fstat(root, &directory->status) != 0) fail(errno, "stat", walk->options->root);
  if (walk->enter != NULL) walk->enter(walk, directory);
  expand(walk, directory);
  if (work_alone(walk)) return directory;
  pthread_t threads[16];
  int started = 0;
  for (; started < walk->threads - 1 && started < 16; started++)
    if (pthread_create(&threads[started], NULL, work, walk) != 0) break;
  work(walk);
  while (started > 0) pthread_join(threads[--started], NULL);
  return directory;
}

int processor_count(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 2;
}
