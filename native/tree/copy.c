/*
 * copy: a person's directory into a frozen layer. Several threads, since most of the time goes into creating files;
 * the signature of each entry is the one its content was read under.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_ullong files, bytes;
static int target_root;

static void progress(int fd) {
  char line[64];
  int length = snprintf(line, sizeof line, "%llu %llu\n", atomic_load(&files), atomic_load(&bytes));
  (void)write_all(fd, line, (size_t)length); /* no one listening is not a failure */
}

static void *report_progress(void *argument) {
  const struct options *options = argument;
  struct timespec pause = {0, 50000000};
  for (;;) {
    nanosleep(&pause, NULL);
    progress(options->progress_fd);
  }
  return NULL;
}

/* True: the node is a further name of something copied before. */
static bool link_to_copy(struct directory *directory, const struct node *node, const struct link *link) {
  const char *name;
  struct anchor anchor = {.root = target_root};
  int parent = anchor_parent(&anchor, link->path, &name);
  bool linked = parent >= 0 && linkat(parent, name, directory->target, node->name, 0) == 0;
  int error = errno;
  anchor_forget(&anchor);
  if (!linked && error != EMLINK && error != EPERM) fail(error, "link", node_path(directory, node->name));
  return linked;
}

static enum outcome copy_or_link(struct walk *walk, struct directory *directory, struct node *node, struct leaf *leaf) {
  bool linked = leaf->fd >= 0 && leaf->status.st_nlink > 1;
  struct link *link = linked ? claim_link(&leaf->status) : NULL;
  if (link != NULL && link->path != NULL && link_to_copy(directory, node, link)) {
    /* The signature the content was read under, not of now: a change in between must show at both names. */
    leaf->status = link->status;
    return LEAF_COPIED;
  }
  bool mine = link != NULL && link->path == NULL;
  enum outcome outcome = copy_leaf(directory->source, node->name, leaf, directory->target, walk->options, &bytes);
  if (mine) {
    char *path = outcome == LEAF_COPIED ? node_path(directory, node->name) : NULL;
    settle_link(link, path, &leaf->status);
  }
  return outcome;
}

static bool visit(struct walk *walk, struct directory *directory, struct node *node) {
  struct leaf leaf;
  enum outcome outcome = open_leaf(directory->source, node->name, &leaf);
  if (outcome == LEAF_COPIED) outcome = copy_or_link(walk, directory, node, &leaf);
  close_leaf(&leaf);
  if (outcome == LEAF_VANISHED) return false;
  if (outcome == LEAF_DIRECTORY) return true;
  if (outcome == LEAF_FAILED) fail(leaf.error, leaf.why, node_path(directory, node->name));
  /* What is left out is in the signatures too, or every scan would find it new. */
  set_node(node, &leaf.status);
  if (outcome == LEAF_UNSTABLE) node->changed = 0;
  if (outcome != LEAF_COPIED) note_problem(node_path(directory, node->name), leaf.error, leaf.why);
  atomic_fetch_add(&files, 1);
  return false;
}

static void enter(struct walk *walk, struct directory *directory) {
  (void)walk;
  if (directory->parent != NULL) {
    const char *name = directory->node->name;
    int parent = directory->parent->target;
    if (mkdirat(parent, name, 0700) != 0 || (directory->target = open_directory(parent, name)) < 0)
      fail(errno, "create", node_path(directory->parent, name));
  }
  int error = copy_user_attributes(directory->source, directory->target);
  if (error != 0) fail(error, "copy", directory->parent ? node_path(directory->parent, directory->node->name) : "");
}

static void leave(struct walk *walk, struct directory *directory) {
  int error = store_metadata(directory->target, &directory->status, directory->status.st_mode & 07777, walk->options);
  if (error != 0)
    fail(error, "set metadata", directory->parent ? node_path(directory->parent, directory->node->name) : "");
  if (directory->parent != NULL) close(directory->target);
}

static void unreadable(struct walk *walk, struct directory *parent, struct node *node, int error) {
  (void)walk;
  note_problem(node_path(parent, node->name), error, "the directory cannot be read");
}

static int open_destination(const char *path) {
  if (mkdir(path, 0700) != 0 && errno != EEXIST) fail(errno, "create", path);
  int fd = open_named_root(path);
  struct listing listing;
  int error = list_directory(fd, &listing);
  if (error == 0 && listing.count > 0) error = ENOTEMPTY;
  if (error != 0) fail(error, "create", path);
  free_listing(&listing);
  return fd;
}

/* A destination inside the tree it is made from would be copied into itself without end. */
static void skip_destination(struct options *options) {
  struct stat status;
  if (fstat(target_root, &status) != 0) fail(errno, "stat", options->destination);
  struct identity *skips = allocate((options->skip_count + 1) * sizeof *skips);
  for (size_t i = 0; i < options->skip_count; i++) skips[i] = options->skips[i];
  skips[options->skip_count++] = (struct identity){status.st_dev, status.st_ino};
  options->skips = skips;
}

int copy_verb(const struct options *given) {
  struct options own = *given, *options = &own;
  int processors = processor_count();
  struct walk walk = {
      .options = options,
      .threads = processors < 2 ? 2 : 4, /* beyond the cores: a thread that waits for the disk gives way */
      .visit = visit,
      .enter = enter,
      .leave = leave,
      .unreadable = unreadable,
  };
  int root = open_named_root(options->root);
  target_root = open_destination(options->destination);
  skip_destination(options);
  pthread_t thread;
  bool reporting = options->progress_fd >= 0 && pthread_create(&thread, NULL, report_progress, options) == 0;
  struct directory *tree = walk_tree(&walk, root, target_root);
  write_signatures(tree, options->out, NULL);
  put_problems();
  if (reporting) pthread_cancel(thread), pthread_join(thread, NULL);
  if (options->progress_fd >= 0) progress(options->progress_fd);
  return 0;
}
