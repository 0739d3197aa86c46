/*
 * The plan: a fixed list of operations, read from an inherited descriptor, made by src/jail/plan-bytes.ts.
 *
 *   header     "CTXJAIL" NUL, u32 version, u32 operation count
 *   operation  u16 code, u16 string count, u32 flags, u64 number, then each string: u32 length, bytes, NUL
 *
 * All integers are little-endian. The reader trusts nothing: every length is checked against the bytes that are there,
 * every code against the table, every string against embedded NULs. There is no policy here: what is listed is done,
 * in order, and the first failure ends everything.
 */
#ifndef CTX_JAIL_PLAN_H
#define CTX_JAIL_PLAN_H

#include <stddef.h>
#include <stdint.h>

enum {
  PLAN_VERSION = 1,
  PLAN_MAX_BYTES = 16 << 20,
  PLAN_MAX_OPERATIONS = 4096,
  PLAN_MAX_STRINGS = 65535,
  PLAN_MAX_CHANNELS = 16,
};

/* Codes are part of the format: they are never reused. */
enum code {
  OP_BASE = 1,   /* directory: chdir there before any namespace; overlay layers are named relative to it */
  OP_NAMESPACES, /* flags: clone flags to unshare */
  OP_MAP_SELF,   /* number: uid << 32 | gid, which the caller's own are called inside */
  OP_HOSTNAME,   /* name */
  OP_LOOPBACK,   /* brings lo up */
  OP_ROOT,       /* number: size limit in bytes; the tmpfs everything below is mounted on */
  OP_DIRECTORY,  /* path; number: mode */
  OP_FILE,       /* path, content; number: mode */
  OP_SYMLINK,    /* path, target */
  OP_TMPFS,      /* path; number: mode; flags: mount attributes */
  OP_BIND,    /* source, target, device:inode that the source must have; flags: mount attributes, applied recursively;
                 source    has no symlink in it; the third may be missing */
  OP_OVERLAY, /* target, lower:lower..., upper, work; flags: mount attributes. Process numbers may follow, of owners of
                 jails that have it mounted: then theirs is cloned (join.h) */
  OP_PROC,    /* path: a fresh procfs of the jail's own pid namespace */
  OP_DEVPTS,  /* path */
  OP_MASK,    /* path: an existing one is hidden behind an empty, unreadable thing; a missing one is skipped */
  OP_READ_ONLY, /* path: an existing one becomes read-only in place; a missing one is skipped */
  OP_PIVOT,     /* enters the new root, leaves the old one for good, makes the root tmpfs read-only */
  OP_SHIFT,     /* number: shift << 32 | count; a user namespace for the command: inside n is outside n + shift */
  OP_USER,      /* number: uid << 32 | gid; every capability is given up for good */
  OP_LIMIT,     /* flags: resource; number: soft and hard value */
  OP_DIRECTORY_OF_COMMAND, /* path: where the command starts */
  OP_ENVIRONMENT,          /* NAME=VALUE, ... */
  OP_COMMAND,              /* argv[0], argv[1], ...; looked up in the PATH of OP_ENVIRONMENT */
  OP_LANDLOCK,             /* number: file rights to handle; flags: scopes */
  OP_LANDLOCK_RULE,        /* path; number: file rights below it */
  OP_SECCOMP,              /* the filter's bytes in hexadecimal; it allows what is left to do before the command */
  OP_LISTEN, /* number: a TCP port of the jail's own loopback; the listening socket goes to the owner of this process */
  OP_CGROUP, /* directory of a control group to enter, before any namespace */
  OP_OWNERS, /* uid map, gid map: who the owners of a mount with PLAN_ATTR_OWNERS are, as user_namespaces(7) writes it
              */
  OP_GROUPS, /* supplementary groups of the command, each a decimal number */
  OP_HELD, /* paths inside: what the command's processes hold of deleted files on their filesystems is reported (held.h)
            */
  OP_CACHE,   /* target, source, upper, work; flags: mount attributes; MOUNT_ATTR_IDMAP: of the source. See cache.c.
                 Process   numbers may follow, as in OP_OVERLAY */
  OP_FUSE,    /* path; number: which of the descriptors from FD_FIRST_CHANNEL on its server gets the kernel's end by;
                 flags: mount    attributes */
  OP_NUMBERS, /* uid map, gid map, of the command's user namespace, instead of those of OP_SHIFT; number: uid << 32 |
                 gid of its user outside, before the shift */
  OP_AGAIN,   /* source, target: what is at a path of the new root by now, with all that is mounted in it, at another,
                 too; flags: mount attributes. Where nothing is at the source, the target is an empty directory */
  OP_COUNT,
};

/* Beside the kernel's own mount attributes: its owners are shown, and written, through the maps of OP_OWNERS. */
#define PLAN_ATTR_OWNERS 0x80000000u

/*
 * Which of the three processes carries an operation out (see main.c), and when: the owner makes the network while init
 * is mounting, and the command's process takes its identity before it is in its root.
 */
enum stage { STAGE_OWNER = 1, STAGE_NETWORK, STAGE_INIT, STAGE_IDENTITY, STAGE_COMMAND };

struct operation {
  enum code code;
  uint32_t flags;
  uint64_t number;
  uint16_t string_count;
  char **strings; /* string_count of them, then a null pointer */
  int taken; /* of an overlay that is another jail's, too: its clone, once it was taken; of a cache, -1 where nobody has
                it */
  int lock;  /* of a cache */
};

struct plan {
  uint32_t count;
  struct operation *operations;
};

struct operation_kind {
  const char *name;
  enum stage stage;
  uint16_t strings_least, strings_most;
};

extern const struct operation_kind operation_kinds[OP_COUNT];

/*
 * A jail with its one command; a jail that is kept; one command in that; overlays to mount in that, and what is
 * read-only of them.
 */
enum plan_kind { PLAN_WHOLE, PLAN_KEPT, PLAN_COMMAND, PLAN_OVERLAYS };

/* Null on success, else what is wrong with the plan. `bytes` must outlive the plan; its strings point into it. */
const char *plan_parse(char *bytes, size_t size, enum plan_kind kind, struct plan *plan);
/* Whether it could be parsed or not. */
void plan_free(struct plan *plan);
/* The first of this kind; null where there is none. */
const struct operation *find(const struct plan *plan, enum code code);
uint32_t high_half(uint64_t number);
uint32_t low_half(uint64_t number);

#endif
