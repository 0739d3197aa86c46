#include "calls/staged-tree.h"
#include "syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { WORKABLE = 0700, MODE_BITS = 07777 };

struct linked_file {
  dev_t device;
  ino_t inode;
  char *path; /* from the second tree's top */
  struct linked_file *next;
};

enum { BUCKETS = 4096 };

struct linked_files {
  struct linked_file *buckets[BUCKETS];
};

static struct linked_file **bucket_of(struct linked_files *files, const struct stat *about) {
  return &files->buckets[(about->st_ino ^ about->st_dev) % BUCKETS];
}

static const struct linked_file *find_linked(struct staged_tree *tree, const struct stat *about) {
  if (!tree->linked || about->st_nlink < 2) return NULL;
  for (struct linked_file *file = *bucket_of(tree->linked, about); file; file = file->next)
    if (file->device == about->st_dev && file->inode == about->st_ino) return file;
  return NULL;
}

static void remember_linked(struct staged_tree *tree, const struct stat *about, const char *directory,
                            const char *name) {
  if (!tree->linked) tree->linked = calloc(1, sizeof *tree->linked);
  struct linked_file *file = tree->linked ? malloc(sizeof *file) : NULL;
  char *path = NULL;
  if (!file || asprintf(&path, "%s%s", directory, name) < 0) {
    free(file);
    return; /* its other names become files of their own */
  }
  struct linked_file **bucket = bucket_of(tree->linked, about);
  *file = (struct linked_file){.device = about->st_dev, .inode = about->st_ino, .path = path, .next = *bucket};
  *bucket = file;
}

void staged_forget(struct staged_tree *tree) {
  for (size_t i = 0; tree->linked && i < BUCKETS; i++)
    for (struct linked_file *file = tree->linked->buckets[i], *next; file; file = next) {
      next = file->next;
      free(file->path);
      free(file);
    }
  free(tree->linked);
  tree->linked = NULL;
}

/*
 * All names in a directory, each with its NUL, and an empty one at the end: the directory changes while they are used.
 */
static char *read_names(int directory) {
  int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = descriptor < 0 ? NULL : fdopendir(descriptor);
  if (!entries) {
    if (descriptor >= 0) close(descriptor);
    return NULL;
  }
  size_t used = 0, room = 1024;
  char *names = malloc(room);
  for (struct dirent *entry; names && (errno = 0, entry = readdir(entries));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    size_t size = strlen(entry->d_name) + 1;
    while (names && used + size + 1 > room) {
      char *larger = realloc(names, room *= 2);
      if (!larger) free(names);
      names = larger;
    }
    if (names) memcpy(names + used, entry->d_name, size);
    used += size;
  }
  int error = names ? errno : ENOMEM;
  closedir(entries);
  if (!error) {
    names[used] = 0;
    return names;
  }
  free(names);
  errno = error;
  return NULL;
}

static const char *next_name(const char *name) {
  return name + strlen(name) + 1;
}

static int rename_new(int from, int to, const char *name) {
  return renameat2(from, name, to, name, RENAME_NOREPLACE);
}

/* No link is followed: of a link the mode cannot be changed, and it is not opened. */
int open_to_change(int parent, const char *name, unsigned *mode) {
  struct stat about;
  int found = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (found < 0) return -1;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", found);
  int opened = -1;
  if (fstat(found, &about) == 0) {
    *mode = about.st_mode & MODE_BITS;
    if ((*mode & WORKABLE) == WORKABLE || chmod(path, *mode | WORKABLE) == 0)
      opened = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  int error = errno;
  close(found);
  errno = error;
  return opened;
}

static bool is_access_list(const char *attribute) {
  return strncmp(attribute, "system.posix_acl_", strlen("system.posix_acl_")) == 0;
}

/* What a new directory inherited is not what the old one had. */
static void drop_access_lists(int directory) {
  fremovexattr(directory, "system.posix_acl_default");
  fremovexattr(directory, "system.posix_acl_access");
}

static int copy_attribute(int from, int to, const char *attribute) {
  char small[4096], *value = small;
  ssize_t size = fgetxattr(from, attribute, small, sizeof small);
  if (size < 0 && errno == ERANGE && (value = malloc(XATTR_SIZE_MAX)))
    size = fgetxattr(from, attribute, value, XATTR_SIZE_MAX);
  int error = !value || size < 0 ? errno : fsetxattr(to, attribute, value, (size_t)size, 0) == 0 ? 0 : errno;
  if (value != small) free(value);
  /* What the kernel's own modules keep there (a label) is theirs to set. */
  return is_access_list(attribute) || strncmp(attribute, "user.", 5) == 0 ? error : 0;
}

static int copy_attributes(int from, int to) {
  char *list = malloc(XATTR_LIST_MAX);
  ssize_t size = list ? flistxattr(from, list, XATTR_LIST_MAX) : -1;
  int error = !list ? ENOMEM : size < 0 && errno != ENOTSUP ? errno : 0;
  drop_access_lists(to);
  for (ssize_t at = 0; !error && at < size; at += (ssize_t)strlen(list + at) + 1)
    error = copy_attribute(from, to, list + at);
  free(list);
  return error;
}

/* Last, when nothing is put into it any more. */
static int copy_metadata(int from, int to, const struct stat *about, unsigned mode) {
  struct stat made;
  const struct timespec times[2] = {about->st_atim, about->st_mtim};
  int error = copy_attributes(from, to);
  if (error) return error;
  if (fstat(to, &made) != 0 || (made.st_gid != about->st_gid && fchown(to, (uid_t)-1, about->st_gid) != 0))
    return errno;
  if (fchmod(to, mode) != 0 || futimens(to, times) != 0 || fstat(to, &made) != 0) return errno;
  return made.st_uid == about->st_uid && (made.st_mode & MODE_BITS) == mode ? 0 : EPERM;
}

static int stage_file(struct staged_tree *tree, int from, int to, const char *name, const char *path,
                      const struct stat *about) {
  const struct linked_file *other = find_linked(tree, about);
  tree->cost->files++;
  if (other && linkat(tree->top, other->path, to, name, 0) == 0) return 0;
  if (!other) tree->cost->bytes += (uint64_t)about->st_size;
  if (!S_ISREG(about->st_mode)) {
    /*
     * The overlay takes two names of a symbolic link for two files: only regular ones say in their attributes where
     * they came from.
     */
    return rename_new(from, to, name) == 0 ? 0 : errno;
  }
  if (linkat(from, name, to, name, 0) != 0) {
    /* Not everybody may link a file, who may move it. */
    if ((errno != EPERM && errno != EMLINK) || rename_new(from, to, name) != 0) return errno;
  }
  if (!other && about->st_nlink > 1) remember_linked(tree, about, path, name);
  return 0;
}

static int fill(struct staged_tree *tree, int from, int to, const char *path, unsigned mode);

static int stage_directory(struct staged_tree *tree, int from, int to, const char *name, const char *path) {
  unsigned mode = 0;
  int inner = open_to_change(from, name, &mode), error = 0;
  if (inner < 0) return errno;
  if (rename_new(from, to, name) == 0) {
    /* It lies in the upper layer alone, with all that is in it. */
    error = (mode & WORKABLE) == WORKABLE || fchmod(inner, mode) == 0 ? 0 : errno;
    close(inner);
    return error;
  }
  char *longer = NULL;
  int made = -1;
  if (errno != EXDEV || mkdirat(to, name, WORKABLE) != 0)
    error = errno;
  else if ((made = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
    error = errno;
  else if (asprintf(&longer, "%s%s/", path, name) < 0)
    error = ENOMEM;
  else
    error = fill(tree, inner, made, longer, mode);
  if (error && made < 0) fchmod(inner, mode);
  free(longer);
  if (made >= 0) close(made);
  close(inner);
  return error;
}

/*
 * Whatever happens, the second tree's directory has the first one's mode and times afterwards: so that they can be given
 * back.
 */
static int fill(struct staged_tree *tree, int from, int to, const char *path, unsigned mode) {
  struct stat about = {0};
  int error = fstat(from, &about) == 0 ? 0 : errno;
  const struct timespec times[2] = {about.st_atim, about.st_mtim};
  if (!error && about.st_uid != geteuid()) error = EPERM; /* no one but root could make it somebody else's */
  char *names = error ? NULL : read_names(from);
  if (!names && !error) error = errno;
  for (const char *name = names; !error && *name; name = next_name(name)) {
    struct stat entry;
    if (fstatat(from, name, &entry, AT_SYMLINK_NOFOLLOW) != 0)
      error = errno == ENOENT ? 0 : errno; /* removed meanwhile */
    else if (S_ISDIR(entry.st_mode))
      error = stage_directory(tree, from, to, name, path);
    else
      error = stage_file(tree, from, to, name, path, &entry);
    if (error == ENOENT) error = 0;
  }
  free(names);
  if (!error) error = copy_metadata(from, to, &about, mode);
  if (error) {
    futimens(to, times);
    fchmod(to, mode);
  }
  return error;
}

int staged_fill(struct staged_tree *tree, int from, int to, unsigned mode) {
  return fill(tree, from, to, "", mode);
}

static bool is_same_time(struct timespec a, struct timespec b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/*
 * Where a user without privileges made the overlay, a file that was copied up has one number at its old name and
 * another at its new one. A file that was put there meanwhile has no second name.
 */
static bool is_same_file(const struct stat *a, const struct stat *b) {
  if (a->st_dev == b->st_dev && a->st_ino == b->st_ino) return true;
  return a->st_nlink > 1 && a->st_nlink == b->st_nlink && a->st_size == b->st_size && a->st_mode == b->st_mode &&
         is_same_time(a->st_ctim, b->st_ctim) && is_same_time(a->st_mtim, b->st_mtim);
}

/* One that somebody put there meanwhile is the newer one. */
static int leave_file(struct staged_tree *tree, int from, int to, const char *name, const struct stat *about) {
  struct stat staged;
  bool there = fstatat(to, name, &staged, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && (is_same_file(about, &staged) || find_linked(tree, about)))
    return unlinkat(from, name, 0) == 0 ? 0 : errno;
  return renameat(from, name, to, name) == 0 ? 0 : errno;
}

static int leave_directory(struct staged_tree *tree, int from, int to, const char *name) {
  unsigned mode, staged_mode;
  if (rename_new(from, to, name) == 0) return 0; /* made meanwhile */
  int inner = open_to_change(from, name, &mode);
  int staged = inner < 0 ? -1 : open_to_change(to, name, &staged_mode);
  int error = staged < 0 ? errno : 0;
  /* What is put into it meanwhile is taken along: see change_places. */
  if (!error) error = staged_empty(tree, inner, staged);
  if (!error && unlinkat(from, name, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY) error = errno;
  if (staged >= 0 && (staged_mode & WORKABLE) != WORKABLE && fchmod(staged, staged_mode) != 0 && !error) error = errno;
  if (staged >= 0) close(staged);
  if (inner >= 0) close(inner);
  return error;
}

int staged_empty(struct staged_tree *tree, int from, int to) {
  char *names = read_names(from);
  int error = names ? 0 : errno;
  for (const char *name = names; !error && *name; name = next_name(name)) {
    struct stat entry;
    if (fstatat(from, name, &entry, AT_SYMLINK_NOFOLLOW) != 0)
      error = errno;
    else
      error = S_ISDIR(entry.st_mode) ? leave_directory(tree, from, to, name) : leave_file(tree, from, to, name, &entry);
    if (error == ENOENT) error = 0; /* removed meanwhile */
  }
  free(names);
  return error;
}

static void undo_directory(int from, int to, const char *name) {
  unsigned mode, ignored;
  int staged = open_to_change(to, name, &mode);
  if (staged < 0) return;
  if (rename_new(to, from, name) == 0) {
    fchmod(staged, mode);
    close(staged);
    return;
  }
  int inner = open_to_change(from, name, &ignored);
  struct stat before;
  if (inner >= 0 && fstat(staged, &before) == 0) {
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    staged_undo(inner, staged);
    futimens(inner, times);
    fchmod(inner, mode);
    unlinkat(to, name, AT_REMOVEDIR);
  }
  close(staged);
  if (inner >= 0) close(inner);
}

void staged_undo(int from, int to) {
  char *names = read_names(to);
  for (const char *name = names; name && *name; name = next_name(name)) {
    struct stat entry;
    if (fstatat(to, name, &entry, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(entry.st_mode))
      undo_directory(from, to, name);
    else if (rename_new(to, from, name) != 0 && errno == EEXIST)
      unlinkat(to, name, 0);
  }
  free(names);
}
