/*
 * The jail's own network: loopback alone. Where a network is granted, a socket that listens on that loopback is made
 * here and handed to whoever started us: connections to it come out in that process, which decides about each. There is
 * no relay, and nothing inside can reach anything else.
 */
#include "descriptor.h"
#include "jail.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void join_network(int process) {
  if (setns(process, CLONE_NEWNET) != 0) fail("joining the network namespace");
}

void bring_loopback_up(void) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0 || ioctl(handle, SIOCSIFFLAGS, &request) != 0) fail("bringing loopback up");
  close(handle);
}

/* The message Node's child processes hand a listening socket over with; it must be one write, with the socket. */
static const char handover[] = "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":\"listening\"}\n";

void listen_for_owner(uint16_t port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 128) != 0)
    fail("listening for the network");
  send_message_with_descriptor(FD_HANDOVER, handover, sizeof handover - 1, listener);
  close(listener);
}
