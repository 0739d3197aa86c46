#ifndef CTX_JAIL_DESCRIPTOR_H
#define CTX_JAIL_DESCRIPTOR_H

/* Descriptors that go from one process of the jail to another. */
#include <stddef.h>

/* Fail where they cannot be sent. */
void send_descriptor(int channel, int descriptor);
void send_message_with_descriptor(int channel, const char *bytes, size_t length, int descriptor);

/* -1 where the other side ended, or sent none. */
int receive_descriptor(int channel);

#endif
