#include "staging.h"
#include "jail.h"
#include "syscalls.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static int staging_namespace = -1, jail_namespace = -1, base = -1;

/* Roots of the overlays that are mounted, so that they are found again without a path. */
static int *kept;
static uint32_t kept_count;

/* On every host, and private to the staging namespace. */
static const char staging_place[] = "/proc";

void keep_staging(void)
{
	make_mounts_private();
	base = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base < 0)
		fail("opening the store");
	staging_namespace = open_mount_namespace();
	if (unshare(CLONE_NEWNS) != 0)
		fail("making the mount namespace");
	jail_namespace = open_mount_namespace();
}

void keep_overlays(const struct plan *jail)
{
	free(kept);
	kept = calloc((size_t)jail->count + 1, sizeof *kept);
	if (!kept)
		fail("keeping the overlays");
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	for (uint32_t i = 0; i < jail->count; i++) {
		if (jail->operations[i].code != OP_OVERLAY)
			continue;
		const char *target = jail->operations[i].strings[0];
		kept[kept_count] = sys_openat2(AT_FDCWD, target, &how);
		if (kept[kept_count++] < 0)
			fail(target);
	}
}

void release_kept_overlays(void)
{
	for (uint32_t i = 0; i < kept_count; i++) {
		detach_mount(kept[i]);
		close(kept[i]);
	}
	kept_count = 0;
}

static bool is_inside(const struct operation *operation, const struct plan *overlays)
{
	const char *path = operation->code == OP_MASK || operation->code == OP_READ_ONLY ? operation->strings[0] : mount_target(operation);
	for (uint32_t i = 0; path && operation->code != OP_OVERLAY && i < overlays->count; i++)
		if (overlays->operations[i].code == OP_OVERLAY && contains(overlays->operations[i].strings[0], path))
			return true;
	return false;
}

/* A mount that was made in one namespace, on its way into the other. */
struct moving {
	int tree;
	bool directory;
};

static struct moving stage_overlay(const struct operation *overlay)
{
	mount_overlay_at(staging_place, overlay);
	int tree = sys_open_tree(AT_FDCWD, staging_place, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || sys_umount2(staging_place, MNT_DETACH) != 0)
		fail(overlay->strings[0]);
	return (struct moving){.tree = tree, .directory = true};
}

static struct moving stage_bind(const struct operation *bind)
{
	struct moving moving;
	/* Not compared again: in the life of a kept jail a file may have been written anew by its owner. */
	moving.tree = clone_tree(bind->strings[0], NULL, bind->flags, &moving.directory);
	return moving;
}

static void enter(int namespace)
{
	if (setns(namespace, CLONE_NEWNS) != 0)
		fail("changing the mount namespace");
}

void mount_overlays_again(const struct plan *jail, const struct plan *overlays)
{
	struct moving *moved = calloc((size_t)overlays->count + jail->count, sizeof *moved), *next = moved;
	if (!moved)
		fail("mounting the fork");
	enter(staging_namespace);
	if (fchdir(base) != 0)
		fail("opening the store");
	for (uint32_t i = 0; i < overlays->count; i++)
		if (overlays->operations[i].code == OP_OVERLAY)
			*next++ = stage_overlay(&overlays->operations[i]);
	for (uint32_t i = 0; i < jail->count; i++)
		if (jail->operations[i].code == OP_BIND && is_inside(&jail->operations[i], overlays))
			*next++ = stage_bind(&jail->operations[i]);
	enter(jail_namespace);
	use_root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (root_fd < 0)
		fail("/");
	next = moved;
	for (uint32_t i = 0; i < overlays->count; i++)
		if (overlays->operations[i].code == OP_OVERLAY)
			attach((next++)->tree, overlays->operations[i].strings[0], true);
	for (uint32_t i = 0; i < jail->count; i++) {
		const struct operation *operation = &jail->operations[i];
		if (!is_inside(operation, overlays))
			continue;
		if (operation->code == OP_BIND) {
			attach(next->tree, operation->strings[1], next->directory);
			next++;
		} else {
			execute(operation, jail, -1);
		}
	}
	/* Last: what is mounted inside may have needed a place made for it. */
	for (uint32_t i = 0; i < overlays->count; i++)
		if (overlays->operations[i].code == OP_READ_ONLY)
			execute(&overlays->operations[i], overlays, -1);
	close(root_fd);
	use_root(-1);
	free(moved);
	keep_overlays(overlays);
}
