#include "descriptor.h"
#include "jail.h"

void send_message_with_descriptor(int channel, const char *bytes, size_t length, int descriptor) {
  if (!hand_over(channel, bytes, length, descriptor)) fail("handing a descriptor over");
}

void send_descriptor(int channel, int descriptor) {
  send_message_with_descriptor(channel, "", 1, descriptor);
}
