/* Verbs and options. Order matters: lock, user namespace, limits, and only then the verb. */
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int lock_verb(const struct options *options) {
  (void)options;
  return 0; /* the lock is taken before any verb */
}

/* Everything written to the filesystem of the directory is on its disk. */
int sync_verb(const struct options *options) {
  int root = open_named_root(options->root);
  if (syncfs(root) != 0) fail(errno, "sync", options->root);
  return 0;
}

static const struct verb {
  const char *name;
  int (*run)(const struct options *options);
  const char *needs; /* r root, d destination, o out, u upper, l layer, i into, t to, k lock-fd */
} verbs[] = {
    {"scan", scan_verb, "r"},        {"copy", copy_verb, "rdo"},    {"diff", diff_verb, "u"},
    {"compare", compare_verb, "lt"}, {"mirror", mirror_verb, "ri"}, {"apply", apply_verb, "ut"},
    {"delete", delete_verb, "r"},    {"lock", lock_verb, "k"},      {"read", read_verb, "l"},
    {"usage", usage_verb, "l"},      {"sync", sync_verb, "r"},      {"empty", empty_verb, "r"},
    {"merge", merge_verb, "ui"},     {"held", held_verb, "l"},      {"digest", digest_verb, "l"},
    {"names", names_verb, "l"},
};

static const struct verb *chosen;

_Noreturn static void usage(const char *problem) {
  fprintf(stderr, "tree: %s\n", problem);
  exit(2);
}

static uint64_t number(const char *text, char end) {
  char *rest;
  errno = 0;
  unsigned long long value = strtoull(text, &rest, 10);
  if (errno != 0 || rest == text || *rest != end || *text < '0' || *text > '9') usage("expected a decimal number");
  return value;
}

static void add_string(struct strings *list, const char *text) {
  list->items = reallocate(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = text;
}

static void add_skip(struct options *options, const char *text) {
  const char *colon = strchr(text, ':');
  if (colon == NULL) usage("expected --skip DEV:INO");
  options->skips = reallocate(options->skips, (options->skip_count + 1) * sizeof *options->skips);
  options->skips[options->skip_count++] = (struct identity){number(text, ':'), number(colon + 1, '\0')};
}

static void add_known(const char *text) {
  const char *inode = strchr(text, ':');
  const char *path = inode == NULL ? NULL : strchr(inode + 1, ':');
  if (path == NULL || path[1] != '/') usage("expected --known DEV:INO:/PATH");
  know_root((struct known_root){{number(text, ':'), number(inode + 1, ':')}, path + 1});
}

static uint32_t number_of_32_bits(const char *text) {
  uint64_t value = number(text, '\0');
  if (value > UINT32_MAX) usage("expected a number of 32 bits");
  return (uint32_t)value;
}

static struct options parse(int count, char **words) {
  struct options options = {.progress_fd = -1, .lock_fd = -1, .to_fd = -1};
  for (int i = 0; i < count; i++) {
    const char *word = words[i];
    bool *flag = strcmp(word, "--wait") == 0          ? &options.wait
                 : strcmp(word, "--shared") == 0      ? &options.shared
                 : strcmp(word, "--copies") == 0      ? &options.copies
                 : strcmp(word, "--links") == 0       ? &options.links
                 : strcmp(word, "--sockets") == 0     ? &options.sockets
                 : strcmp(word, "--digests") == 0     ? &options.digests
                 : strcmp(word, "--whole") == 0       ? &options.whole
                 : strcmp(word, "--durable") == 0     ? &options.durable
                 : strcmp(word, "--past-closed") == 0 ? &options.past_closed
                 : strcmp(word, "--forward") == 0     ? &options.forward
                 : strcmp(word, "--times") == 0       ? &options.times
                 : strcmp(word, "--present") == 0     ? &options.present
                 : strcmp(word, "--undoes") == 0      ? &options.undoes
                 : strcmp(word, "--timed") == 0       ? &options.timed
                 : strcmp(word, "--stampless") == 0   ? &options.stampless
                 : strcmp(word, "--trees") == 0       ? &options.trees
                 : strcmp(word, "--differing") == 0   ? &options.differing
                                                      : NULL;
    if (flag != NULL) {
      *flag = true;
      continue;
    }
    if (strncmp(word, "--", 2) != 0) {
      if (options.root == NULL)
        options.root = word;
      else if (options.destination == NULL)
        options.destination = word;
      else
        usage("too many arguments");
      continue;
    }
    if (i + 1 >= count) usage("an option lacks its value");
    struct strings *list = strcmp(word, "--upper") == 0                                   ? &options.uppers
                           : strcmp(word, "--lower") == 0 || strcmp(word, "--layer") == 0 ? &options.layers
                           : strcmp(word, "--below") == 0                                 ? &options.belows
                           : strcmp(word, "--under") == 0                                 ? &options.unders
                           : strcmp(word, "--holder") == 0                                ? &options.holders
                                                                                          : NULL;
    if (list != NULL) {
      do add_string(list, words[++i]);
      while (i + 1 < count && strncmp(words[i + 1], "--", 2) != 0);
      continue;
    }
    const char *value = words[++i];
    if (strcmp(word, "--out") == 0)
      options.out = value;
    else if (strcmp(word, "--against") == 0)
      options.against = value;
    else if (strcmp(word, "--into") == 0)
      options.into = value;
    else if (strcmp(word, "--to") == 0)
      options.to = value;
    else if (strcmp(word, "--mounted") == 0)
      options.mounted = value;
    else if (strcmp(word, "--skip") == 0)
      add_skip(&options, value);
    else if (strcmp(word, "--known") == 0)
      add_known(value);
    else if (strcmp(word, "--shift") == 0)
      options.shift = number_of_32_bits(value);
    else if (strcmp(word, "--every") == 0)
      options.every = number_of_32_bits(value);
    else if (strcmp(word, "--after") == 0)
      options.after = (int64_t)number(value, '\0');
    else if (strcmp(word, "--before") == 0)
      options.before = (int64_t)number(value, '\0');
    else if (strcmp(word, "--most") == 0)
      options.most = number(value, '\0');
    else if (strcmp(word, "--count") == 0)
      options.count = number(value, '\0');
    else if (strcmp(word, "--entries") == 0)
      options.entries = number(value, '\0');
    else if (strcmp(word, "--wake-bytes") == 0)
      options.wake_bytes = number(value, '\0');
    else if (strcmp(word, "--progress-fd") == 0)
      options.progress_fd = (int)number(value, '\0');
    else if (strcmp(word, "--parent") == 0)
      options.parent = (pid_t)number(value, '\0');
    else if (strcmp(word, "--lock-fd") == 0)
      options.lock_fd = (int)number(value, '\0');
    else
      usage("unknown option");
  }
  return options;
}

static void require(const struct verb *verb, const struct options *options) {
  for (const char *need = verb->needs; *need != '\0'; need++) {
    if (*need == 'r' && options->root == NULL) usage("a directory is missing");
    if (*need == 'd' && options->destination == NULL) usage("the destination is missing");
    if (*need == 'o' && options->out == NULL) usage("--out is missing");
    if (*need == 'u' && options->uppers.count == 0) usage("--upper is missing");
    if (*need == 'l' && options->layers.count == 0) usage("--layer is missing");
    if (*need == 'i' && options->into == NULL) usage("--into is missing");
    if (*need == 't' && options->to == NULL) usage("--to is missing");
    if (*need == 'k' && options->lock_fd < 0) usage("--lock-fd is missing");
  }
}

/*
 * Nobody waits for what this says once its caller is gone: no lock is kept, no disk filled. SIGTERM, so that no
 * temporary is left behind. Entering a user namespace clears it, so it is asked for twice.
 */
static void end_with_caller(pid_t caller) {
  if (chosen != NULL && chosen->run == empty_verb) return; /* it is for afterwards */
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) fail(errno, "follow", "the caller");
  if (caller != 0 && getppid() != caller) exit(1); /* it was gone before that */
}

/* The lock belongs to the open file description, which the parent shares: it stays held when this process ends. */
static void take_lock(const struct options *options) {
  if (options->lock_fd < 0) return;
  const int kind = options->shared ? LOCK_SH : LOCK_EX;
  while (flock(options->lock_fd, options->wait ? kind : kind | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    fail(errno == EWOULDBLOCK ? EBUSY : errno, "lock", "");
  }
}

static struct options asked;

static void run_verb(void) {
  chosen->run(&asked);
  flush_output();
  exit(0);
}

static bool privileged;

/* What every verb needs of the process, once. */
static void prepare_process(void) {
  if (!privileged) enter_user_namespace();
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max; /* a deep tree holds one fd a level */
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

static struct options understand(int count, char **words) {
  if (count < 1) usage("expected a verb");
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(words[0], verbs[i].name) == 0) chosen = &verbs[i];
  if (chosen == NULL) usage("unknown verb");
  struct options options = parse(count - 1, words + 1);
  require(chosen, &options);
  options.privileged = privileged;
  return options;
}

_Noreturn void run_job(int count, char **words) {
  asked = understand(count, words);
  run_on_large_stack(run_verb);
}

void begin_process(void) {
  privileged = geteuid() == 0;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a write beyond `ulimit -f` fails with EFBIG, and takes back what it made */
  umask(0);
}

void prepare_to_serve(void) {
  prepare_process();
  end_with_caller(0);
}

_Noreturn void run_alone(int count, char **words) {
  asked = understand(count, words);
  clean_up_when_told_to_stop();
  hear_signals();
  end_with_caller(asked.parent);
  take_lock(&asked);
  if (asked.mounted != NULL) asked.to_fd = open_mounted(&asked);
  prepare_process();
  end_with_caller(asked.parent);
  run_on_large_stack(run_verb);
}
