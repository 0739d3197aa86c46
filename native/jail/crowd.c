#include "crowd.h"
#include "jail.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not one that has ended and waits to be collected: it holds nothing any more. */
static uint32_t one_alive(int proc, const char *process)
{
	char path[300], text[512];
	snprintf(path, sizeof path, "%s/stat", process);
	int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	if (got <= 0)
		return 0; /* gone meanwhile */
	text[got] = 0;
	/* "PID (NAME) STATE ...", and a name may hold anything. */
	const char *state = strrchr(text, ')');
	return !(state && state[1] && (state[2] == 'Z' || state[2] == 'X'));
}

/* A directory has a link for each directory in it, and two more. */
static uint32_t threads_of(int proc, const char *process)
{
	char path[300];
	struct stat about;
	snprintf(path, sizeof path, "%s/task", process);
	return fstatat(proc, path, &about, 0) == 0 && about.st_nlink > 2 ? (uint32_t)about.st_nlink - 2 : 1;
}

static uint32_t sum_over_processes(uint32_t (*count)(int proc, const char *process))
{
	uint32_t sum = 0;
	DIR *processes = opendir("/proc");
	if (!processes)
		fail("/proc");
	for (struct dirent *entry; (entry = readdir(processes));)
		if (isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, "1") != 0)
			sum += count(dirfd(processes), entry->d_name);
	closedir(processes);
	return sum;
}

uint32_t count_processes(void)
{
	return sum_over_processes(one_alive);
}

uint32_t count_threads(void)
{
	return sum_over_processes(threads_of);
}
