/*
 * Whole trees in lists of paths: `D/` stands for the directory D and all that a stack of layers shows in it, in walk
 * order. Callers that have a hundred thousand new files say so in a word, and what they mean is read from the layers.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_tree_path(const char *path) {
  size_t length = strlen(path);
  return length > 1 && path[length - 1] == '/' && path[length - 2] != '/';
}

/* Without its slash, and refused where that is not a plain path. */
static char *directory_of(const char *path) {
  char *directory = copy_text(path);
  directory[strlen(directory) - 1] = '\0';
  if (!is_plain_path(directory) || is_top_path(directory)) fail(EINVAL, "expand", path);
  return directory;
}

struct expansion {
  struct buffer path; /* of the entry at hand, NUL-terminated, length without the NUL */
  void (*take)(void *context, const char *path);
  void *context;
};

static void expand_directory(struct expansion *expansion, const struct layers *layers);

static void expand_entry(struct expansion *expansion, const struct layers *layers, const char *name) {
  struct found found;
  struct layers children;
  working_on(expansion->path.data);
  look_up(layers, name, &found, &children);
  if (found.state == FOUND_ENTRY) {
    expansion->take(expansion->context, expansion->path.data);
    if (S_ISDIR(found.status.st_mode)) expand_directory(expansion, &children);
  }
  close_layers(&children);
}

static void expand_directory(struct expansion *expansion, const struct layers *layers) {
  struct listing names;
  list_layers(layers, &names);
  size_t prefix = expansion->path.length;
  for (size_t i = 0; i < names.count; i++) {
    append(&expansion->path, "/", 1);
    append(&expansion->path, names.names[i].text, strlen(names.names[i].text) + 1);
    expansion->path.length--;
    expand_entry(expansion, layers, names.names[i].text);
    expansion->path.length = prefix;
  }
  free_listing(&names);
}

/* False: the stack does not show it. */
static bool expand_tree(const struct layers *stack, const char *directory, void (*take)(void *, const char *),
                        void *context) {
  struct expansion expansion = {.take = take, .context = context};
  struct layers at = *stack;
  bool owned = false, shown = true;
  append(&expansion.path, directory, strlen(directory) + 1);
  expansion.path.length--;
  char *parts = copy_text(directory), *rest = parts;
  while (rest != NULL && shown) {
    struct found found;
    struct layers children;
    look_up(&at, strsep(&rest, "/"), &found, &children);
    if (owned) close_layers(&at);
    at = children;
    owned = true;
    shown = found.state == FOUND_ENTRY && S_ISDIR(found.status.st_mode);
  }
  free(parts);
  if (shown) {
    take(context, directory);
    expand_directory(&expansion, &at);
  }
  close_layers(&at);
  working_on("");
  free(expansion.path.data);
  return shown;
}

struct expanded {
  struct buffer records;
  const char *action; /* NULL in a list of paths alone */
  size_t from;        /* where the records of the tree at hand begin */
};

static void add_record(void *context, const char *path) {
  struct expanded *expanded = context;
  if (expanded->action != NULL) append(&expanded->records, expanded->action, strlen(expanded->action) + 1);
  append(&expanded->records, path, strlen(path) + 1);
}

/* Records of an action and a path each, since `from`: the deepest first. */
static void turn_round(struct expanded *expanded) {
  size_t length = expanded->records.length - expanded->from, action = strlen(expanded->action) + 1;
  char *copy = reallocate(NULL, length), *to = expanded->records.data + expanded->records.length;
  memcpy(copy, expanded->records.data + expanded->from, length);
  for (size_t at = 0; at < length;) {
    size_t record = action + strlen(copy + at + action) + 1;
    memcpy(to -= record, copy + at, record);
    at += record;
  }
  free(copy);
}

static bool has_trees(struct records records) {
  for (const char *next; (next = next_record(&records)) != NULL;)
    if (is_tree_path(next)) return true;
  return false;
}

static bool is_removal(const char *action) {
  return action != NULL && strcmp(action, "remove") == 0;
}

struct records expand_records(struct records records, bool plan, const struct layers *first,
                              const struct layers *second) {
  if (!has_trees(records)) return records;
  struct expanded expanded = {0};
  for (const char *next; (next = next_record(&records)) != NULL;) {
    if (plan) expanded.action = next;
    const char *path = plan ? next_record(&records) : next;
    if (path == NULL) fail(EINVAL, "expand", "");
    if (!is_tree_path(path)) {
      add_record(&expanded, path);
      continue;
    }
    char *directory = directory_of(path);
    expanded.from = expanded.records.length;
    /* What is taken away is what was looked at there; all else is what is put. */
    const struct layers *stacks[] = {is_removal(expanded.action) ? second : first,
                                     is_removal(expanded.action) ? NULL : second};
    bool shown = false;
    for (size_t i = 0; i < 2 && !shown; i++)
      shown = stacks[i] != NULL && expand_tree(stacks[i], directory, add_record, &expanded);
    if (!shown) add_record(&expanded, directory);
    if (is_removal(expanded.action)) turn_round(&expanded);
    free(directory);
  }
  free(records.data);
  return (struct records){expanded.records.data, expanded.records.length, 0};
}

static void put_name(void *context, const char *path) {
  (void)context;
  put_field(path);
}

/* names: what the layers show in each of these trees, the directory itself first. */
int names_verb(const struct options *options) {
  struct layers layers = open_layers(&options->layers);
  struct records records = read_records();
  for (const char *next; (next = next_record(&records)) != NULL;) {
    if (!is_tree_path(next)) fail(EINVAL, "names", next);
    char *directory = directory_of(next);
    expand_tree(&layers, directory, put_name, NULL);
    free(directory);
  }
  return 0;
}

/* What an entry is of: trees that are left out of a list, and the stacks that show what they hold. */
static const char **left_out;
static size_t left_out_count;
static struct resolver first_stack, second_stack;

static int by_text(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void leave_trees_out(const struct options *options) {
  struct records records = read_records();
  size_t room = 0;
  for (const char *next; (next = next_record(&records)) != NULL;) {
    if (!is_tree_path(next)) fail(EINVAL, "leave out", next);
    if (left_out_count == room) {
      room = room * 2 + 64;
      left_out = reallocate(left_out, room * sizeof *left_out);
    }
    left_out[left_out_count++] = directory_of(next);
  }
  free(records.data);
  if (left_out_count > 1) qsort(left_out, left_out_count, sizeof *left_out, by_text);
  first_stack.root = open_layers(&options->uppers);
  second_stack.root = open_layers(&options->layers);
}

bool is_left_out_tree(const char *path) {
  return left_out_count > 0 && bsearch(&path, left_out, left_out_count, sizeof *left_out, by_text) != NULL;
}

static bool is_in_left_out(const char *path) {
  static struct buffer part;
  if (is_left_out_tree(path)) return true;
  for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    part.length = 0;
    append(&part, path, (size_t)(slash - path));
    append(&part, "", 1);
    if (is_left_out_tree(part.data)) return true;
  }
  return false;
}

bool is_left_out(const char *path) {
  struct found found;
  if (left_out_count == 0 || !is_in_left_out(path)) return false;
  resolve(&first_stack, path, &found);
  if (found.state == FOUND_ENTRY) return true;
  resolve(&second_stack, path, &found);
  return found.state == FOUND_ENTRY;
}
