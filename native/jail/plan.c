/* The reader of plans. See plan.h for the format. */
#include "plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ANY_NUMBER PLAN_MAX_STRINGS

const struct operation_kind operation_kinds[OP_COUNT] = {
    [OP_BASE] = {"base", STAGE_OWNER, 1, 1},
    [OP_NAMESPACES] = {"namespaces", STAGE_OWNER, 0, 0},
    [OP_MAP_SELF] = {"map-self", STAGE_OWNER, 0, 0},
    [OP_HOSTNAME] = {"hostname", STAGE_OWNER, 1, 1},
    [OP_LOOPBACK] = {"loopback", STAGE_NETWORK, 0, 0},
    [OP_ROOT] = {"root", STAGE_INIT, 0, 0},
    [OP_DIRECTORY] = {"directory", STAGE_INIT, 1, 1},
    [OP_FILE] = {"file", STAGE_INIT, 2, 2},
    [OP_SYMLINK] = {"symlink", STAGE_INIT, 2, 2},
    [OP_TMPFS] = {"tmpfs", STAGE_INIT, 1, 1},
    [OP_BIND] = {"bind", STAGE_INIT, 2, 3},
    [OP_OVERLAY] = {"overlay", STAGE_INIT, 4, ANY_NUMBER},
    [OP_PROC] = {"proc", STAGE_INIT, 1, 1},
    [OP_DEVPTS] = {"devpts", STAGE_INIT, 1, 1},
    [OP_MASK] = {"mask", STAGE_INIT, 1, 1},
    [OP_READ_ONLY] = {"read-only", STAGE_INIT, 1, 1},
    [OP_PIVOT] = {"pivot", STAGE_INIT, 0, 0},
    [OP_SHIFT] = {"shift", STAGE_COMMAND, 0, 0},
    [OP_USER] = {"user", STAGE_IDENTITY, 0, 0},
    [OP_LIMIT] = {"limit", STAGE_IDENTITY, 0, 0},
    [OP_DIRECTORY_OF_COMMAND] = {"directory-of-command", STAGE_COMMAND, 1, 1},
    [OP_ENVIRONMENT] = {"environment", STAGE_COMMAND, 0, ANY_NUMBER},
    [OP_COMMAND] = {"command", STAGE_COMMAND, 1, ANY_NUMBER},
    [OP_LANDLOCK] = {"landlock", STAGE_COMMAND, 0, 0},
    [OP_LANDLOCK_RULE] = {"landlock-rule", STAGE_COMMAND, 1, 1},
    [OP_CGROUP] = {"cgroup", STAGE_OWNER, 1, 1},
    [OP_OWNERS] = {"owners", STAGE_OWNER, 2, 2},
    [OP_GROUPS] = {"groups", STAGE_IDENTITY, 1, ANY_NUMBER},
    [OP_HELD] = {"held", STAGE_COMMAND, 1, ANY_NUMBER},
    [OP_CACHE] = {"cache", STAGE_INIT, 4, ANY_NUMBER},
    [OP_FUSE] = {"fuse", STAGE_INIT, 1, 1},
    [OP_NUMBERS] = {"numbers", STAGE_OWNER, 2, 2},
    [OP_AGAIN] = {"again", STAGE_INIT, 2, 2},
    [OP_LISTEN] = {"listen", STAGE_NETWORK, 0, 0},
    [OP_SECCOMP] = {"seccomp", STAGE_IDENTITY, 1, 1},
};

struct cursor {
  char *next;
  size_t left;
};

static bool take(struct cursor *cursor, void *into, size_t size) {
  if (cursor->left < size) return false;
  memcpy(into, cursor->next, size);
  cursor->next += size;
  cursor->left -= size;
  return true;
}

static bool take_u16(struct cursor *cursor, uint16_t *value) {
  unsigned char b[2];
  if (!take(cursor, b, sizeof b)) return false;
  *value = (uint16_t)(b[0] | b[1] << 8);
  return true;
}

static bool take_u32(struct cursor *cursor, uint32_t *value) {
  unsigned char b[4];
  if (!take(cursor, b, sizeof b)) return false;
  *value = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
  return true;
}

static bool take_u64(struct cursor *cursor, uint64_t *value) {
  uint32_t low, high;
  if (!take_u32(cursor, &low) || !take_u32(cursor, &high)) return false;
  *value = (uint64_t)high << 32 | low;
  return true;
}

/* A string is used in place: it must end in the only NUL it has. */
static bool take_string(struct cursor *cursor, char **string) {
  uint32_t length;
  if (!take_u32(cursor, &length) || length >= cursor->left) return false;
  if (memchr(cursor->next, 0, (size_t)length + 1) != cursor->next + length) return false;
  *string = cursor->next;
  cursor->next += (size_t)length + 1;
  cursor->left -= (size_t)length + 1;
  return true;
}

static const char *parse_operation(struct cursor *cursor, struct operation *operation) {
  uint16_t code;
  if (!take_u16(cursor, &code) || !take_u16(cursor, &operation->string_count) || !take_u32(cursor, &operation->flags) ||
      !take_u64(cursor, &operation->number))
    return "an operation is cut short";
  if (code == 0 || code >= OP_COUNT) return "an operation has an unknown code";
  operation->code = (enum code)code;
  const struct operation_kind *kind = &operation_kinds[code];
  if (operation->string_count < kind->strings_least || operation->string_count > kind->strings_most)
    return "an operation has the wrong number of strings";
  operation->strings = calloc((size_t)operation->string_count + 1, sizeof *operation->strings);
  if (!operation->strings) return "out of memory";
  for (uint16_t i = 0; i < operation->string_count; i++)
    if (!take_string(cursor, &operation->strings[i])) return "a string is cut short or holds a NUL";
  return NULL;
}

/*
 * The one thing that is not left to the process that made the plan: a command runs only in a root of its own, as
 * somebody. What a kind of plan needs must be there once, in this order, and nothing of another kind's may.
 */
enum { MOST_NEEDED = 5 };
static const struct {
  enum code needed[MOST_NEEDED]; /* up to the first 0 */
  const char *problem;
} orders[] = {
    [PLAN_WHOLE] = {{OP_NAMESPACES, OP_ROOT, OP_PIVOT, OP_USER, OP_COMMAND},
                    "namespaces, root, pivot, user and command must occur once each, in this order"},
    [PLAN_KEPT] = {{OP_NAMESPACES, OP_ROOT, OP_PIVOT},
                   "namespaces, root and pivot must occur once each, in this order"},
    [PLAN_COMMAND] = {{OP_USER, OP_COMMAND}, "user and command must occur once each, in this order"},
    [PLAN_OVERLAYS] = {{0}, "overlays were expected"},
};

static bool belongs(enum code code, enum plan_kind kind) {
  enum stage stage = operation_kinds[code].stage;
  const bool of_command = stage == STAGE_IDENTITY || stage == STAGE_COMMAND;
  switch (kind) {
  case PLAN_WHOLE:
    return true;
  case PLAN_KEPT:
    return !of_command || code == OP_SHIFT;
  case PLAN_COMMAND:
    return of_command && code != OP_SHIFT;
  case PLAN_OVERLAYS:
    return code == OP_OVERLAY || code == OP_READ_ONLY;
  }
  return false;
}

static const char *check_order(const struct plan *plan, enum plan_kind kind) {
  const enum code *needed = orders[kind].needed;
  size_t next = 0;
  for (uint32_t i = 0; i < plan->count; i++) {
    enum code code = plan->operations[i].code;
    if (!belongs(code, kind)) return "an operation does not belong in a plan of this kind";
    bool expected = next < MOST_NEEDED && code == needed[next];
    for (size_t j = 0; j < MOST_NEEDED; j++)
      if (code == needed[j] && !expected) return orders[kind].problem;
    next += expected;
  }
  return next < MOST_NEEDED && needed[next] ? orders[kind].problem : NULL;
}

const char *plan_parse(char *bytes, size_t size, enum plan_kind kind, struct plan *plan) {
  *plan = (struct plan){0};
  struct cursor cursor = {bytes, size};
  char magic[8];
  uint32_t version;
  if (!take(&cursor, magic, sizeof magic) || memcmp(magic, "CTXJAIL", sizeof magic) != 0) return "this is not a plan";
  if (!take_u32(&cursor, &version) || version != PLAN_VERSION) return "the plan has another version than this program";
  if (!take_u32(&cursor, &plan->count) || plan->count > PLAN_MAX_OPERATIONS) return "the plan has too many operations";
  plan->operations = calloc((size_t)plan->count + 1, sizeof *plan->operations);
  if (!plan->operations) return "out of memory";
  for (uint32_t i = 0; i < plan->count; i++) {
    const char *problem = parse_operation(&cursor, &plan->operations[i]);
    if (problem) return problem;
  }
  if (cursor.left != 0) return "bytes follow the last operation";
  return check_order(plan, kind);
}

void plan_free(struct plan *plan) {
  for (uint32_t i = 0; plan->operations && i < plan->count; i++) free(plan->operations[i].strings);
  free(plan->operations);
  *plan = (struct plan){0};
}

uint32_t high_half(uint64_t number) {
  return (uint32_t)(number >> 32);
}

uint32_t low_half(uint64_t number) {
  return (uint32_t)number;
}

const struct operation *find(const struct plan *plan, enum code code) {
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->operations[i].code == code) return &plan->operations[i];
  return NULL;
}
