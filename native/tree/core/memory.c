/* Memory that is there, or the end of the program; texts that grow. */
#include "core/core.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *reallocate(void *old, size_t bytes) {
  void *memory = realloc(old, bytes == 0 ? 1 : bytes);
  if (memory == NULL) {
    static const char record[] = "ENOMEM\0allocate\0";
    (void)!write(STDERR_FILENO, record, sizeof record);
    _exit(1);
  }
  return memory;
}

char *copy_text(const char *text) {
  size_t bytes = strlen(text) + 1;
  return memcpy(reallocate(NULL, bytes), text, bytes);
}

void *allocate(size_t bytes) {
  void *memory = reallocate(NULL, bytes);
  memset(memory, 0, bytes);
  return memory;
}

void append(struct buffer *buffer, const void *bytes, size_t length) {
  if (length == 0) return;
  if (buffer->length + length > buffer->capacity) {
    size_t capacity = buffer->capacity * 2 + length + 256;
    buffer->data = reallocate(buffer->data, capacity);
    buffer->capacity = capacity;
  }
  memcpy(buffer->data + buffer->length, bytes, length);
  buffer->length += length;
}
