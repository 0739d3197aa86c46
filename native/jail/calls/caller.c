#include "calls/caller.h"
#include "context.h"
#include "jail.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/seccomp.h>

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif

/* Most paths are short; and none has more than two pages. */
bool read_caller_path(pid_t pid, uint64_t address, char path[PATH_MAX]) {
  const size_t page = 4096;
  for (size_t size = 256;; size = PATH_MAX) {
    size_t first = page - address % page < size ? page - address % page : size;
    struct iovec local = {.iov_base = path, .iov_len = size};
    struct iovec remote[] = {{.iov_base = (void *)(uintptr_t)address, .iov_len = first},
                             {.iov_base = (void *)(uintptr_t)(address + first), .iov_len = size - first}};
    ssize_t got = process_vm_readv(pid, &local, 1, remote, size > first ? 2 : 1, 0);
    if (got <= 0) return false;
    if (memchr(path, 0, (size_t)got)) return true;
    if (size == PATH_MAX) return false;
  }
}

bool name_through_caller(pid_t pid, int directory, const char *path, char named[PATH_MAX + 64]) {
  int length;
  if (path[0] == '/') /* Our root is the caller's, or it is not prepared: see shares_our_mounts. */
    length = snprintf(named, PATH_MAX + 64, "%s", path);
  else if (directory == AT_FDCWD)
    length = snprintf(named, PATH_MAX + 64, "%d/cwd/%s", (int)pid, path);
  else
    length = snprintf(named, PATH_MAX + 64, "%d/fd/%d/%s", (int)pid, directory, path);
  return path[0] && length < PATH_MAX + 64;
}

bool is_on_overlay(const struct host *host, const char *named, unsigned type) {
  struct statx about;
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (statx(host->processes, named, flags, STATX_TYPE, &about) != 0 || (about.stx_mode & S_IFMT) != type) return false;
  struct statfs filesystem;
  int found = openat(host->processes, named, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  bool overlay = found >= 0 && fstatfs(found, &filesystem) == 0 && filesystem.f_type == OVERLAYFS_SUPER_MAGIC;
  if (found >= 0) close(found);
  return overlay;
}

void let_go_on(int listener, uint64_t id, int error) {
  struct seccomp_notif_resp answer = {.id = id, .error = -error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}
