/* What a library gives Node: its functions by name, and whole numbers in both directions. */
#ifndef CTX_EXPORTS_H
#define CTX_EXPORTS_H

#include <node_api.h>
#include <stddef.h>

struct export {
  const char *name;
  napi_callback call;
};

static inline napi_value export_all(napi_env env, napi_value exports, const struct export *functions, size_t count) {
  for (size_t i = 0; i < count; i++) {
    napi_value function = NULL;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}

/* The end of a library's file: `EXPORTS({"name", function}, ...)`. */
#define EXPORTS(...)                                                                                                   \
  NAPI_MODULE_INIT() {                                                                                                 \
    static const struct export functions[] = {__VA_ARGS__};                                                            \
    return export_all(env, exports, functions, sizeof functions / sizeof *functions);                                  \
  }

/* -1 for what is not a number. */
static inline int32_t number_of(napi_env env, napi_value value) {
  int32_t number = -1;
  return napi_get_value_int32(env, value, &number) == napi_ok ? number : -1;
}

static inline napi_value number_to_node(napi_env env, int32_t number) {
  napi_value value = NULL;
  napi_create_int32(env, number, &value);
  return value;
}

#endif
