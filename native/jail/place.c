/*
 * Places inside the new root. A target may lie in a tree that an agent wrote before (its private home), so every step is
 * one openat without following a symlink: what is planted there makes the launch fail, never lead elsewhere.
 */
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int root_fd = -1;

/* Walks all components but the last, making directories that are missing; `name` is then the last one. */
int open_parent(const char *path, const char **name)
{
	if (path[0] != '/')
		fail_with(EINVAL, "a target is not absolute");
	int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (at < 0)
		fail(path);
	const char *start = path + 1;
	for (const char *slash; (slash = strchr(start, '/')); start = slash + 1) {
		char component[NAME_MAX + 1];
		size_t length = (size_t)(slash - start);
		if (length == 0 || length > NAME_MAX)
			fail_with(EINVAL, path);
		memcpy(component, start, length);
		component[length] = 0;
		if (strcmp(component, ".") == 0 || strcmp(component, "..") == 0)
			fail_with(EINVAL, path);
		if (mkdirat(at, component, 0755) != 0 && errno != EEXIST && errno != EROFS)
			fail(path);
		int next = openat(at, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			fail(path);
		close(at);
		at = next;
	}
	if (!*start || strcmp(start, ".") == 0 || strcmp(start, "..") == 0)
		fail_with(EINVAL, path);
	*name = start;
	return at;
}

/* An O_PATH descriptor of a directory or file to mount on; made where it is missing. */
int open_place(const char *path, bool directory)
{
	if (strcmp(path, "/") == 0)
		return fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	const char *name;
	int parent = open_parent(path, &name);
	if (directory) {
		if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST && errno != EROFS)
			fail(path);
	} else {
		int file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (file < 0 && errno != EEXIST && errno != EROFS)
			fail(path);
		if (file >= 0)
			close(file);
	}
	int place = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (directory ? O_DIRECTORY : 0));
	struct stat about;
	if (place < 0 || fstat(place, &about) != 0)
		fail(path);
	if (S_ISLNK(about.st_mode) || S_ISDIR(about.st_mode) != directory)
		fail_with(S_ISLNK(about.st_mode) ? ELOOP : ENOTDIR, path);
	close(parent);
	return place;
}
