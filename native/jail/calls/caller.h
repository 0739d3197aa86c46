/*
 * Looking at a caller whose system call was told to the owner. What is read may be another thing by the time the kernel
 * carries the call out: the process that changes the arguments meanwhile, or the tree, asks for another call, and may
 * do that. So nothing here decides a right.
 */
#ifndef CTX_JAIL_CALLER_H
#define CTX_JAIL_CALLER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct host;

/* False where there is no such string. */
bool read_caller_path(pid_t pid, uint64_t address, char path[PATH_MAX]);

/* The path as its caller sees it, from the host's /proc. */
bool name_through_caller(pid_t pid, int directory, const char *path, char named[PATH_MAX + 64]);

/* Whether an entry of this type (S_IFDIR, S_IFREG) is there, on an overlay. */
bool is_on_overlay(const struct host *host, const char *named, unsigned type);

/* With an error that is the call's answer; without one the kernel carries it out, with the caller's rights. */
void let_go_on(int listener, uint64_t id, int error);

#endif
