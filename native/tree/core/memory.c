/* Memory that is there, or the end of the program; texts that grow. */
#include "core/core.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *there(void *memory) {
  if (memory == NULL) {
    static const char record[] = "ENOMEM\0allocate\0";
    (void)!write(STDERR_FILENO, record, sizeof record);
    _exit(1);
  }
  return memory;
}

void *reallocate(void *old, size_t bytes) {
  return there(realloc(old, bytes == 0 ? 1 : bytes));
}

char *copy_text(const char *text) {
  size_t bytes = strlen(text) + 1;
  return memcpy(reallocate(NULL, bytes), text, bytes);
}

/* What the kernel gives is zero already: a large table costs what is used. */
void *allocate(size_t bytes) {
  return there(calloc(1, bytes == 0 ? 1 : bytes));
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
