/*
 * Places inside the new root. A target may lie in a tree that an agent wrote before (its private home), so every step is
 * one openat without following a symlink: what is planted there makes the launch fail, never lead elsewhere.
 */
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int root_fd = -1;

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One call where the directory is there already, which it is for all but the first place in it. */
static int open_directory(const char *path, size_t length)
{
	char directory[PATH_MAX];
	if (length == 0)
		return fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (length >= sizeof directory)
		fail_with(ENAMETOOLONG, path);
	memcpy(directory, path, length);
	directory[length] = 0;
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
	return sys_openat2(root_fd, directory, &how);
}

/* Component by component, making what is missing. */
static int make_directories(const char *path, size_t length)
{
	int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (at < 0)
		fail(path);
	for (const char *start = path, *end = path + length; start < end;) {
		char component[NAME_MAX + 1];
		const char *slash = memchr(start, '/', (size_t)(end - start));
		size_t size = (size_t)((slash ? slash : end) - start);
		if (size == 0 || size > NAME_MAX)
			fail_with(EINVAL, path);
		memcpy(component, start, size);
		component[size] = 0;
		if (is_dots(component))
			fail_with(EINVAL, path);
		if (mkdirat(at, component, 0755) != 0 && errno != EEXIST && errno != EROFS)
			fail(path);
		int next = openat(at, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			fail(path);
		close(at);
		at = next;
		start += size + 1;
	}
	return at;
}

/* The directory `path` lies in, made where it is missing; `name` is then the last component. */
int open_parent(const char *path, const char **name)
{
	const char *last = strrchr(path, '/');
	if (path[0] != '/' || !last[1] || is_dots(last + 1))
		fail_with(EINVAL, path);
	*name = last + 1;
	size_t length = last > path ? (size_t)(last - path - 1) : 0;
	int parent = open_directory(path + 1, length);
	if (parent < 0 && errno == ENOENT)
		parent = make_directories(path + 1, length);
	if (parent < 0)
		fail(path);
	return parent;
}

/* An O_PATH descriptor of a directory or file to mount on; made where it is missing. */
int open_place(const char *path, bool directory)
{
	if (strcmp(path, "/") == 0)
		return fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	const char *name;
	int parent = open_parent(path, &name);
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (directory ? O_DIRECTORY : 0);
	int place = openat(parent, name, flags);
	if (place < 0 && errno == ENOENT) {
		if (directory && mkdirat(parent, name, 0755) != 0)
			fail(path);
		int file = directory ? -1 : openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (file >= 0)
			close(file);
		place = openat(parent, name, flags);
	}
	struct stat about;
	if (place < 0 || fstat(place, &about) != 0)
		fail(path);
	if (S_ISLNK(about.st_mode) || S_ISDIR(about.st_mode) != directory)
		fail_with(S_ISLNK(about.st_mode) ? ELOOP : ENOTDIR, path);
	close(parent);
	return place;
}
