/* Our programs are started without an environment, and end without freeing: so the options are in them. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void) {
  return "detect_leaks=0:abort_on_error=1:handle_segv=1:detect_stack_use_after_return=0";
}

const char *__ubsan_default_options(void) {
  return "halt_on_error=1:print_stacktrace=1:abort_on_error=1";
}
