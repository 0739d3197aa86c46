/*
 * The bulk tree walker. It reads and writes trees that a hostile agent has written, so nothing here trusts a path:
 * every entry is reached by name from a directory fd, without following links, and is checked after it is opened.
 *
 *   main.c       one job, or many              userns.c     CAP_DAC_OVERRIDE over the caller's own files
 *   jobs.c       verbs, options, lock          serve.c      many jobs, a process each
 *   core/        what knows no tree: memory.c, pending.c (what goes to stdout), errors.c (the one failure record),
 *                output.c (records out, records in), clock.c (times, and whether they can be trusted)
 *   directory.c  listings, anchored opening    layers.c     overlay's on-disk format: lookup in a stack of layers
 *   walk.c       parallel walk of one tree     signature.c  the file that says what a tree looked like
 *   content.c    copy and compare contents     leaf.c       copy one entry, stable against concurrent writers
 *   attributes.c the user's own attributes     one file a verb: scan copy diff compare mirror merge apply
 *   links.c      hard links met before         delete read usage digest sync empty
 *   blake3.c     digests
 *   place/       one entry's place in the person's directory: replace.c (the last step of a put or removal: no save of
 *                theirs is lost by it), retired.c, aside.c, names.c, owner.c, acl.c
 *   times.c      later times, same order       count.c      entries of a tree of any depth
 *   batch.c      files that wait for their bytes together            put.c        entries that apply makes
 *   dates.c      the times that apply gives                          beside.c     directories that come as a whole
 *   units.c      those of them that wait                            expand.c     whole trees in lists of paths
 *
 * Wire format: NUL-separated fields. Exit 0, or 1 with `ERRNONAME\0operation\0path\0` on stderr, or 2 for bad usage.
 */
#ifndef TREE_H
#define TREE_H

#include "core/core.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* jobs.c */
struct strings {
  const char **items;
  size_t count;
};

struct identity {
  uint64_t device, inode;
};

/* A directory of the person's: the path without links, and which directory has to stand there. */
struct known_root {
  struct identity identity;
  const char *path;
};

struct options {
  const char *root;        /* first positional argument */
  const char *destination; /* second */
  const char *out, *against, *into, *to;
  struct strings uppers, layers, belows; /* topmost first */
  struct strings unders;                 /* paths that diff is asked about; none: all */
  struct strings holders;                /* processes that have `to` mounted for themselves, from `mounted` */
  const char *mounted;
  struct identity *skips;
  size_t skip_count;
  uint32_t shift;
  uint32_t every;      /* milliseconds; 0: once */
  uint64_t most;       /* bytes of content that digest reads, of long paths that diff lists; 0: all */
  uint64_t entries;    /* that diff lists; 0: all */
  uint64_t count;      /* diff only counts, and not beyond this; 0: it lists */
  uint64_t wake_bytes; /* growth of the filesystem that makes usage look sooner */
  int64_t after;       /* nanoseconds: the later times of an earlier job, to be given again; 0: of now */
  int64_t before;      /* nanoseconds: what is aged becomes older than this; 0: keeps its time */
  int progress_fd, lock_fd;
  int to_fd;    /* what `to` is, where it was opened before; or -1 */
  pid_t parent; /* whom this ends with; 0: whoever it is */
  bool wait, shared, privileged, copies, links, sockets, digests, whole, past_closed, forward, times, present, durable,
      undoes, timed, stampless, trees, differing;
};

int scan_verb(const struct options *options);
int copy_verb(const struct options *options);
int diff_verb(const struct options *options);
int read_verb(const struct options *options);
int compare_verb(const struct options *options);
int mirror_verb(const struct options *options);
int apply_verb(const struct options *options);
int delete_verb(const struct options *options);
int usage_verb(const struct options *options);
int merge_verb(const struct options *options);
int held_verb(const struct options *options);
int digest_verb(const struct options *options);
int sync_verb(const struct options *options);
int empty_verb(const struct options *options);
int names_verb(const struct options *options);

/* jobs.c: the verb, with its options, in this process: for serve.c, or by itself. */
void begin_process(void);
void prepare_to_serve(void);
_Noreturn void run_job(int count, char **words);
_Noreturn void run_alone(int count, char **words);

/* serve.c: until nobody asks any more. */
_Noreturn void serve_jobs(void);

/*
 * mounted.c: before any namespace of our own: `to` as one of the holders has it mounted. ESRCH where no one has it any
 * more.
 */
int open_mounted(const struct options *options);

/* userns.c: before any thread exists; where the host refuses, the program goes on with the caller's own rights. */
void enter_user_namespace(void);

/* directory.c */
struct name {
  const char *text;
  unsigned char type; /* d_type: a hint only */
};
struct listing {
  struct name *names; /* sorted bytewise */
  size_t count;
  char *storage;
};
int list_directory(int fd, struct listing *listing);
void free_listing(struct listing *listing);
int open_directory(int parent, const char *name);
/* One of a tree of ours. EXDEV where something is mounted there. */
int open_same_mount(int parent, const char *name);
/* A known root is opened without following anything, and refused (ESTALE) where it is another directory by now. */
int open_named_root(const char *path);
void know_root(struct known_root root);
bool is_known_root(const char *path);
/* A regular file for reading; *status is of the fd. Never blocks, never follows; another type is ENXIO. */
int open_regular(int parent, const char *name, struct stat *status);
/* The same for an entry whose status is known. */
int open_seen_regular(int parent, const char *name, struct stat *status);
/* Relative, no empty, `.` or `..` component. */
bool is_plain_path(const char *path);
/* `.`: the root itself, of which only mode and owner are looked at. */
bool is_top_path(const char *path);
bool same_top(const struct stat *left, const struct stat *right);

/* Paths of one tree, reached from its root fd; remembers the last parent, since lists of paths come sorted. */
struct anchor {
  int root, parent_fd;
  char *parent;
  size_t parent_length;
  bool reads;    /* nothing is made meanwhile: a directory that is missing stays so */
  char *missing; /* the last one */
  int why;
};
/* The fd of the directory that holds `path` (owned by the anchor), or -1 with errno; *name is the last component. */
int anchor_parent(struct anchor *anchor, const char *path, const char **name);
void anchor_forget(struct anchor *anchor);
int open_beneath(int root, const char *path, size_t length);

/* layers.c */
struct layers {
  int *fds;
  size_t count;
  bool stopped; /* what lies below this set is hidden here: opaque, whiteout or a non-directory in between */
};
enum found_state { FOUND_NOTHING, FOUND_WHITEOUT, FOUND_ENTRY };
struct found {
  enum found_state state;
  int directory; /* of the layer that holds the entry; owned by the set */
  struct stat status;
};
/* In a directory of a person, not of the store: what may not be read counts as empty. */
extern bool past_closed_directories;
struct layers open_layers(const struct strings *paths);
void close_layers(struct layers *layers);
/* `children` may be NULL; else it receives the set of directories that make up this entry, to be closed. */
void look_up(const struct layers *layers, const char *name, struct found *found, struct layers *children);
void list_layers(const struct layers *layers, struct listing *listing);
void merge_listings(struct listing *into, struct listing *other);
struct resolver {
  struct layers root, parent;
  char *parent_path;
  size_t parent_length;
};
void resolve(struct resolver *resolver, const char *path, struct found *found);

/* walk.c */
struct directory;
struct node {
  const char *name;
  struct directory *directory;
  uint32_t mode, uid, gid; /* mode 0: not there */
  unsigned char hint;
  bool racy;     /* changed so recently that a later change could leave the same times */
  uint64_t size; /* of a directory the mark of its attributes, where it was entered */
  uint64_t inode;
  int64_t modified, changed;
};
struct directory {
  struct directory *parent;
  struct node *node; /* in the parent; NULL for the root */
  struct node *nodes;
  struct listing listing;
  int source, target;
  struct stat status;
  atomic_size_t source_uses, pending;
};
struct walk {
  const struct options *options;
  int threads;
  /* For so long one thread does it: a walk of a small tree ends before others have begun. */
  int64_t alone_nanoseconds;
  /* For everything that is not a directory; true: it is one after all. */
  bool (*visit)(struct walk *walk, struct directory *directory, struct node *node);
  void (*enter)(struct walk *walk, struct directory *directory); /* before its entries */
  void (*leave)(struct walk *walk, struct directory *directory); /* after its whole subtree */
  void (*unreadable)(struct walk *walk, struct directory *parent, struct node *node, int error);
  void *context;
};
struct directory *walk_tree(struct walk *walk, int root, int target);
char *node_path(const struct directory *directory, const char *name);
void set_node(struct node *node, const struct stat *status);
int processor_count(void);

/* signature.c */
void write_signatures(const struct directory *root, const char *path, const char *against);

/* expand.c: `D/` in a list is the directory D with all that is in it. */
bool is_tree_path(const char *path);
/*
 * The list with each tree as the paths that `first` shows of it, or `second` where that shows none; `plan`: an action
 * before each path. Of a removal it is what `second` shows, from the deepest up. Either may be NULL.
 */
struct records expand_records(struct records records, bool plan, const struct layers *first,
                              const struct layers *second);
/* Trees of stdin; then whether an entry of one is shown by --upper or --layer: who lists entries leaves it out. */
void leave_trees_out(const struct options *options);
bool is_left_out(const char *path);
bool is_left_out_tree(const char *path);

/* times.c */
struct order {
  int64_t *times; /* nanoseconds; sorted, each once, when closed */
  size_t count, room;
  int64_t after; /* all times that are given come after it */
};
void count_time(struct order *order, struct timespec time);
/* Waits until the clock has passed all that will be given; `after` 0: now. */
void close_order(struct order *order, int64_t after);
struct timespec later_time(const struct order *order, struct timespec time);

/* content.c */
#define COPY_BUFFER (256 * 1024)
int copy_content(int from, int to, const struct stat *status, atomic_ullong *copied);
bool same_content(int left_directory, const struct stat *left, int right_directory, const struct stat *right,
                  const char *left_name, const char *right_name);
/* The same for a file that is open; its offset is not used. */
bool same_content_as(int directory, const struct stat *status, const char *name, int open, const struct stat *opened);

/* attributes.c: a name of NULL means what is open itself. */
int copy_user_attributes(int from, int to); /* 0, or an errno */
/* The same for an entry that is there: those that `before` has and `from` has not are taken away. */
int change_user_attributes(int before, int from, int to);
/* Where one of the two filesystems keeps none they are the same: nothing could make them so. */
bool same_attributes(int left_directory, const char *left_name, int right_directory, const char *right_name);
/* Whether an entry has attributes of its own or a list of rights, without opening it; also where that is unknown. */
bool may_have_attributes(int directory, const char *name);
/* A line for each, `NAME=VALUE`, escaped; a long value is cut, and has its length and digest. */
void show_attributes(int directory, const char *name, struct buffer *text);
uint64_t mark_attributes(int fd); /* another one for others; 0: none */

/* blake3.c */
struct blake3 {
  uint32_t value[8]; /* of the chunk so far */
  uint32_t stack[54][8];
  size_t depth;
  uint64_t chunks;
  size_t blocks, length; /* blocks of this chunk that are done, bytes of the next */
  uint8_t block[64];
};
void blake3_begin(struct blake3 *hash);
void blake3_add(struct blake3 *hash, const void *bytes, size_t length);
void blake3_end(struct blake3 *hash, char text[65]); /* in hexadecimal */

/* leaf.c */
enum outcome { LEAF_COPIED, LEAF_VANISHED, LEAF_DIRECTORY, LEAF_LEFT_OUT, LEAF_UNSTABLE, LEAF_FAILED };
struct leaf {
  int fd; /* of a regular file that could be opened, else -1 */
  struct stat status;
  int error;
  const char *why;
};
/* LEAF_COPIED here means: ready to be copied. */
enum outcome open_leaf(int directory, const char *name, struct leaf *leaf);
enum outcome copy_leaf(int directory, const char *name, struct leaf *leaf, int target, const struct options *options,
                       atomic_ullong *copied);
void close_leaf(struct leaf *leaf);
/* Owner, mode and times of a directory or file in the store; 0 or an errno. */
int store_metadata(int fd, const struct stat *status, mode_t mode, const struct options *options);
/* As fchmod(2). A file that was made with the mode costs a look and no write. */
int set_mode(int fd, mode_t mode);

/* diff.c */
const char *type_name(mode_t mode);

/* count.c */
uint64_t count_entries(int directory);

/* links.c: the first to meet an inode copies it, the others link to that copy. */
struct link {
  struct link *next;
  struct identity identity;
  bool copying;
  char *path; /* of the copy, once there is one */
  struct stat status;
};
struct link *claim_link(const struct stat *status); /* path set: link to it; else the caller copies and settles */
bool is_being_copied(const struct stat *status);    /* claimed, and not settled: claiming it would wait */
void settle_link(struct link *link, char *path, const struct stat *status);

#endif
