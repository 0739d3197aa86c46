#include "core.h"

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { MOST_MEGABYTES = 1024, FEWEST_MEGABYTES = 8, GUARD_BYTES = 1 << 16 };

static void (*to_run)(void);

_Noreturn static void begin(void) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
  to_run();
  __builtin_unreachable();
}

/* Nothing of it is there before it is used. */
static char *new_stack(size_t size) {
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, kind, -1, 0);
  if (stack == MAP_FAILED) return NULL;
  if (mprotect(stack, GUARD_BYTES, PROT_NONE) == 0) return stack;
  munmap(stack, size);
  return NULL;
}

/* By hand, since `makecontext` would have it that there is a way back, which sanitizers warn of. */
_Noreturn static void begin_on(char *top) {
#if defined(__x86_64__)
  __asm__ volatile("mov %0, %%rsp\n\tcall *%1\n\tud2" : : "r"(top), "r"(begin) : "memory");
#elif defined(__aarch64__)
  __asm__ volatile("mov sp, %0\n\tblr %1\n\tbrk #0" : : "r"(top), "r"(begin) : "memory", "x30");
#else
#error "expected x86_64 or arm64"
#endif
  __builtin_unreachable();
}

_Noreturn void run_on_large_stack(void (*run)(void)) {
  to_run = run;
  for (size_t megabytes = MOST_MEGABYTES; megabytes >= FEWEST_MEGABYTES; megabytes /= 2) {
    const size_t size = megabytes << 20;
    char *stack = new_stack(size);
    if (stack == NULL) continue;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(NULL, stack, size);
#endif
    begin_on(stack + size);
  }
  run();
  __builtin_unreachable();
}
