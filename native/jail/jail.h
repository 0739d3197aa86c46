/* What the parts of the jail share: one function an operation. */
#ifndef CTX_JAIL_H
#define CTX_JAIL_H

#include "inherited.h"
#include "plan.h"
#include "report.h"

#include <stdbool.h>
#include <sys/types.h>

struct jail_context;

/* operations.c */
/* `channel` is the command's end of its socket to the owner; -1 in the other stages. */
void execute(struct jail_context *jail, const struct operation *operation, const struct plan *plan, int channel);
void execute_stage(struct jail_context *jail, const struct plan *plan, enum stage stage, int channel);
/* Once init has been started: the kernel takes as long for a network namespace as init for half of its mounts. */
void make_network(struct jail_context *jail, const struct plan *plan);

/* identity.c */
void map_self(struct jail_context *jail, uid_t uid, gid_t gid);
void leave_session_keyring(void);
void become(uid_t uid, gid_t gid);
void open_host_proc(struct jail_context *jail);
int open_mount_namespace(struct jail_context *jail);
void detach_mount(struct jail_context *jail, int root);
void make_namespace_of_shift(struct jail_context *jail, uint32_t shift, uint32_t count);
void enter_namespace_of_shift(struct jail_context *jail);
void make_namespace_of_owners(struct jail_context *jail, const char *users, const char *groups);
void make_namespace_of_numbers(struct jail_context *jail, const char *users, const char *groups);
void take_groups(char *const groups[]);
void enter_control_group(const char *directory);

/* network.c */
/* Into the network namespace that the process of this pidfd is in by now. */
void join_network(int process);
void bring_loopback_up(void);
void listen_for_owner(uint16_t port);

/* mounts.c */
void make_root(struct jail_context *jail, uint64_t size);
void make_directory(struct jail_context *jail, const char *path, mode_t mode);
void make_file(struct jail_context *jail, const char *path, const char *content, mode_t mode);
void make_symlink(struct jail_context *jail, const char *path, const char *target);
void mount_tmpfs(struct jail_context *jail, const char *path, mode_t mode, uint32_t attributes);
/* Through the maps of OP_OWNERS from here on. */
void exchange_owners(struct jail_context *jail, int tree);
/* `identity` is DEVICE:INODE of what the source has to be, or null. */
void mount_bind(struct jail_context *jail, const char *source, const char *target, const char *identity,
                uint32_t attributes);
/* A detached copy of what is mounted at a path of the host, and the placing of it. */
int clone_tree(struct jail_context *jail, const char *source, const char *identity, uint32_t attributes,
               bool *directory);
void attach(struct jail_context *jail, int tree, const char *path, bool directory);
void make_mounts_private(void);
/* Its server, at the other end of this channel, is given the kernel's end and answers from then on. */
void mount_fuse(struct jail_context *jail, const char *path, uint64_t channel, uint32_t attributes);
void mount_proc(struct jail_context *jail, const char *path);
void mount_devpts(struct jail_context *jail, const char *path);
void mask(struct jail_context *jail, const char *path);
void make_read_only(struct jail_context *jail, const char *path);
void repeat_mount(struct jail_context *jail, const char *source, const char *target, uint32_t attributes);
void pivot(struct jail_context *jail);

/* overlay.c */
void mount_overlay(struct jail_context *jail, const struct operation *overlay);
extern const char overlay_profile[];
void clear_volatile_marker(const char *work);
void open_work_directories(const char *work);
void mount_overlay_at(struct jail_context *jail, const char *place, const struct operation *overlay);
/* Where an operation mounts something, or null. */
const char *mount_target(const struct operation *operation);
void release_overlays(const struct plan *plan);

/* place.c: targets inside the new root, never through a symlink */
/* Whether the path is `outer` or lies in it. */
bool contains(const char *outer, const char *inner);
void use_root(struct jail_context *jail, int descriptor);
/*
 * To mount on, made where it is missing: `name` in the directory that is returned, or that itself where `name` is
 * empty. Not to be closed.
 */
int find_place(struct jail_context *jail, const char *path, bool directory, const char **name);
int find_parent(struct jail_context *jail, const char *path, const char **name);
void give_to_owner_of(struct jail_context *jail, int parent, const char *made, const char *path);
/* To be told of every mount in the root. */
void mounted_at(struct jail_context *jail, const char *path);

/* command.c */
void limit(uint32_t resource, uint64_t value);
_Noreturn void execute_program(char *const argv[], char *const environment[]);

/* probe.c */
int probe(const char *directory);

/* init.c */
/* No program runs before init has given up what it may do, which it says there. */
bool has_given_up(int says);
void await_harmless_init(struct jail_context *jail);
/* What it answers to each byte of the owner's. */
enum { INIT_ALONE = 'a', INIT_NOT_ALONE = 'n' };
/*
 * Two descriptors that end with the owner, which asks by it, and with the process that started that; and one for the
 * answers.
 */
_Noreturn void be_init(int owner, int lifeline, int answers);

#endif
