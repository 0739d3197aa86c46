#ifndef CTX_JAIL_DESCRIPTOR_H
#define CTX_JAIL_DESCRIPTOR_H

/* Descriptors that go from one process of the jail to another: these fail where they cannot be sent. */
#include "handover.h"

void send_descriptor(int channel, int descriptor);
void send_message_with_descriptor(int channel, const char *bytes, size_t length, int descriptor);

#endif
