/*
 * The reader of plans under a fuzzer: any bytes, as every kind of plan. The bytes are in memory of exactly their size,
 * so that a sanitizer sees the first step beyond; what was read is then used as the jail would use it.
 */
#include "jail/plan.h"

#include <stdlib.h>
#include <string.h>

static void demand(int condition) {
  if (!condition) abort();
}

/* Every string lies in the bytes, and ends in the only NUL it has; every code is one that the table knows. */
static void use(const struct plan *plan, const char *bytes, size_t size) {
  for (uint32_t i = 0; i < plan->count; i++) {
    const struct operation *operation = &plan->operations[i];
    demand(operation->code > 0 && operation->code < OP_COUNT);
    const struct operation_kind *kind = &operation_kinds[operation->code];
    demand(operation->string_count >= kind->strings_least && operation->string_count <= kind->strings_most);
    for (uint16_t j = 0; j < operation->string_count; j++) {
      const char *string = operation->strings[j];
      demand(string >= bytes && string + strlen(string) < bytes + size);
    }
    demand(!operation->strings[operation->string_count]);
  }
}

/* A command never runs but in a root of its own, and as somebody. */
static void check_order(const struct plan *plan) {
  static const enum code needed[] = {OP_NAMESPACES, OP_ROOT, OP_PIVOT, OP_USER, OP_COMMAND};
  size_t next = 0;
  for (uint32_t i = 0; i < plan->count; i++)
    if (next < sizeof needed / sizeof *needed && plan->operations[i].code == needed[next]) next++;
  demand(next == sizeof needed / sizeof *needed);
}

/* What is said of one command, and not of the jail that it runs in. */
static int is_of_command(enum code code) {
  static const enum code own[] = {OP_USER,        OP_GROUPS,  OP_LIMIT,    OP_SECCOMP,       OP_DIRECTORY_OF_COMMAND,
                                  OP_ENVIRONMENT, OP_COMMAND, OP_LANDLOCK, OP_LANDLOCK_RULE, OP_HELD};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (own[i] == code) return 1;
  return 0;
}

static int may_be_in(enum code code, enum plan_kind kind) {
  if (kind == PLAN_OVERLAYS) return code == OP_OVERLAY || code == OP_READ_ONLY;
  return kind == PLAN_WHOLE || is_of_command(code) == (kind == PLAN_COMMAND);
}

static size_t put(char *bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; i++) bytes[at + i] = (char)(value >> 8 * i);
  return at + size;
}

/* Without flags and a number, and with empty strings, as many as it needs: all of it is zeros, which are there. */
static size_t put_operation(char *bytes, size_t at, enum code code) {
  uint16_t strings = operation_kinds[code].strings_least;
  at = put(bytes, put(bytes, at, code, 2), strings, 2);
  return at + 4 + 8 + strings * (size_t)(4 + 1);
}

/* What a kind of plan needs and every operation there is: it is read where it may be in such a plan, and only there. */
static void check_kinds(void) {
  static const enum code needed[][5] = {
      [PLAN_WHOLE] = {OP_NAMESPACES, OP_ROOT, OP_PIVOT, OP_USER, OP_COMMAND},
      [PLAN_KEPT] = {OP_NAMESPACES, OP_ROOT, OP_PIVOT},
      [PLAN_COMMAND] = {OP_USER, OP_COMMAND},
      [PLAN_OVERLAYS] = {0},
  };
  for (enum plan_kind kind = PLAN_WHOLE; kind <= PLAN_OVERLAYS; kind++)
    for (enum code code = 1; code < OP_COUNT; code++) {
      char bytes[1024] = "CTXJAIL";
      uint32_t count = 1;
      int twice = 0;
      size_t size = put_operation(bytes, 16, code);
      for (size_t i = 0; i < 5 && needed[kind][i]; i++, count++) {
        twice |= needed[kind][i] == code;
        size = put_operation(bytes, size, needed[kind][i]);
      }
      put(bytes, put(bytes, 8, PLAN_VERSION, 4), count, 4);
      struct plan plan;
      demand(!plan_parse(bytes, size, kind, &plan) == (may_be_in(code, kind) && !twice));
      plan_free(&plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int are_checked;
  if (!are_checked) check_kinds();
  are_checked = 1;
  for (enum plan_kind kind = PLAN_WHOLE; kind <= PLAN_OVERLAYS; kind++) {
    char *bytes = malloc(size ? size : 1);
    struct plan plan;
    if (!bytes) return 0;
    memcpy(bytes, data, size);
    if (!plan_parse(bytes, size, kind, &plan)) {
      use(&plan, bytes, size);
      if (kind == PLAN_WHOLE) check_order(&plan);
    }
    plan_free(&plan);
    free(bytes);
  }
  return 0;
}
