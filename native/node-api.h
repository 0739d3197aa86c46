/*
 * The few functions of Node's C interface that our libraries use. It is stable; declared here, since its headers are
 * not always installed.
 */
#ifndef CTX_NODE_API_H
#define CTX_NODE_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef struct napi_ref__ *napi_ref;
typedef struct napi_handle_scope__ *napi_handle_scope;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);

extern int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_int32(napi_env, napi_value, int32_t *);
extern int napi_get_value_int64(napi_env, napi_value, int64_t *);
extern int napi_get_value_string_utf8(napi_env, napi_value, char *, size_t, size_t *);
extern int napi_get_buffer_info(napi_env, napi_value, void **, size_t *);
extern int napi_create_int32(napi_env, int32_t, napi_value *);
extern int napi_create_int64(napi_env, int64_t, napi_value *);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
extern int napi_set_element(napi_env, napi_value, uint32_t, napi_value);
extern int napi_get_uv_event_loop(napi_env, void **);
extern int napi_create_array_with_length(napi_env, size_t, napi_value *);
extern int napi_create_string_utf8(napi_env, const char *, size_t, napi_value *);
extern int napi_get_global(napi_env, napi_value *);
extern int napi_create_reference(napi_env, napi_value, uint32_t, napi_ref *);
extern int napi_delete_reference(napi_env, napi_ref);
extern int napi_get_reference_value(napi_env, napi_ref, napi_value *);
extern int napi_open_handle_scope(napi_env, napi_handle_scope *);
extern int napi_close_handle_scope(napi_env, napi_handle_scope);
extern int napi_get_uv_event_loop(napi_env, void **);
extern int napi_async_init(napi_env, napi_value, napi_value, void **);
extern int napi_async_destroy(napi_env, void *);
extern int napi_make_callback(napi_env, void *, napi_value, napi_value, size_t, const napi_value *, napi_value *);

/* What Node calls when it loads a library. */
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

#endif
