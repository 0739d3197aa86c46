/* What the parts of the jail share: one function an operation. */
#ifndef CTX_JAIL_H
#define CTX_JAIL_H

#include "inherited.h"
#include "plan.h"
#include "report.h"

#include <stdbool.h>
#include <sys/types.h>

/* operations.c */
/* `channel` is the command's end of its socket to the owner; -1 in the other stages. */
void execute(const struct operation *operation, const struct plan *plan, int channel);
void execute_stage(const struct plan *plan, enum stage stage, int channel);
/* Once init has been started: the kernel takes as long for a network namespace as init for half of its mounts. */
void make_network(const struct plan *plan);

/* identity.c */
void map_self(uid_t uid, gid_t gid);
void leave_session_keyring(void);
void become(uid_t uid, gid_t gid);
void open_host_proc(void);
/* The /proc of the host, by descriptor; and another descriptor of it. */
int host_processes(void);
void use_host_processes(int descriptor);
int open_mount_namespace(void);
void detach_mount(int root);
/* Where the plan shifts; -1 before, and where it does not. */
void make_namespace_of_shift(uint32_t shift, uint32_t count);
/* Where the plan shifts, the id outside of the root inside: the jail's own places are given to it. */
uint32_t root_inside(void);
int namespace_of_shift(void);
void enter_namespace_of_shift(void);
/* For mounts with PLAN_ATTR_OWNERS; -1 before. */
void make_namespace_of_owners(const char *users, const char *groups);
int namespace_of_owners(void);
/* For the command itself, where inside it has other numbers than outside. */
void make_namespace_of_numbers(const char *users, const char *groups);
void take_groups(char *const groups[]);
void enter_control_group(const char *directory);

/* network.c */
/* Into the network namespace that the process of this pidfd is in by now. */
void join_network(int process);
void bring_loopback_up(void);
void listen_for_owner(uint16_t port);

/* mounts.c */
void make_root(uint64_t size);
void make_directory(const char *path, mode_t mode);
void make_file(const char *path, const char *content, mode_t mode);
void make_symlink(const char *path, const char *target);
void mount_tmpfs(const char *path, mode_t mode, uint32_t attributes);
/* Through the maps of OP_OWNERS from here on. */
void exchange_owners(int tree);
/* `identity` is DEVICE:INODE of what the source has to be, or null. */
void mount_bind(const char *source, const char *target, const char *identity, uint32_t attributes);
/* A detached copy of what is mounted at a path of the host, and the placing of it. */
int clone_tree(const char *source, const char *identity, uint32_t attributes, bool *directory);
void attach(int tree, const char *path, bool directory);
void make_mounts_private(void);
/* Its server, at the other end of this channel, is given the kernel's end and answers from then on. */
void mount_fuse(const char *path, uint64_t channel, uint32_t attributes);
void mount_proc(const char *path);
void mount_devpts(const char *path);
void mask(const char *path);
void make_read_only(const char *path);
void repeat_mount(const char *source, const char *target, uint32_t attributes);
/* The pivot waits for a byte there: the network, and every process that shall be in the new root, must exist by then.
 */
void wait_before_pivot(int descriptor);
void pivot(void);

/* overlay.c */
void mount_overlay(const struct operation *overlay);
extern const char overlay_profile[];
void clear_volatile_marker(const char *work);
void open_work_directories(const char *work);
void mount_overlay_at(const char *place, const struct operation *overlay);
/* Where an operation mounts something, or null. */
const char *mount_target(const struct operation *operation);
void release_overlays(const struct plan *plan);

/* place.c: targets inside the new root, never through a symlink */
/* Whether the path is `outer` or lies in it. */
bool contains(const char *outer, const char *inner);
extern int root_fd;
void use_root(int descriptor);
/* To mount on, made where it is missing: `name` in the directory that is returned, or that itself where `name` is
 * empty. Not to be closed. */
int find_place(const char *path, bool directory, const char **name);
int find_parent(const char *path, const char **name);
void give_to_owner_of(int parent, const char *made, const char *path);
/* To be told of every mount in the root. */
void mounted_at(const char *path);

/* command.c */
void limit(uint32_t resource, uint64_t value);
_Noreturn void execute_program(char *const argv[], char *const environment[]);

/* probe.c */
int probe(const char *directory);

/* init.c */
/* No program runs before init has given up what it may do, which it says there. */
void expect_init(int says);
bool has_given_up(int says);
void await_harmless_init(void);
/* What it answers to each byte of the owner's. */
enum { INIT_ALONE = 'a', INIT_NOT_ALONE = 'n' };
/* Two descriptors that end with the owner, which asks by it, and with whoever started that; and one for the answers. */
_Noreturn void be_init(int owner, int lifeline, int answers);

#endif
