/* scan: stat everything once, in parallel, and say what differs from last time. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>

/* To start a thread and to wait for it costs about as much. */
enum { ALONE_NANOSECONDS = 300000 };

static bool visit(struct walk *walk, struct directory *directory, struct node *node) {
  (void)walk;
  struct stat status;
  if (fstatat(directory->source, node->name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
    node->mode = 0; /* gone, or of a mount that does not answer */
    return false;
  }
  if (S_ISDIR(status.st_mode)) return true;
  set_node(node, &status);
  node->racy = is_racy(&status);
  return false;
}

/* Kept without its children: should it become readable, they are new. */
static void unreadable(struct walk *walk, struct directory *parent, struct node *node, int error) {
  (void)walk;
  (void)parent;
  (void)node;
  (void)error;
}

int scan_verb(const struct options *options) {
  int processors = processor_count();
  struct walk walk = {
      .options = options,
      .threads = processors < 4 ? processors : 4,
      .alone_nanoseconds = ALONE_NANOSECONDS,
      .visit = visit,
      .unreadable = unreadable,
  };
  int root = open_named_root(options->root);
  if (options->trees) leave_trees_out(options);
  struct directory *tree = walk_tree(&walk, root, -1);
  tree->source = root; /* entries that were changed just now are looked at again from here */
  write_signatures(tree, options->out, options->against);
  return 0;
}
