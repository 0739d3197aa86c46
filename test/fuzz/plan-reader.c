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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
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
