/*
 * The jail's own network: loopback alone. Where a network is granted, a socket that listens on that loopback is made
 * here and handed to the process that started us: connections to it come out in that process, which decides about each.
 * There is no relay, and nothing inside can reach anything else.
 */
#include "descriptor.h"
#include "jail.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void join_network(int process) {
  if (setns(process, CLONE_NEWNET) != 0) fail("joining the network namespace");
}

/* What asks the kernel for one more address of loopback. It answers nothing but an error, which is not waited for. */
struct new_address {
  struct nlmsghdr header;
  struct ifaddrmsg about;
  struct rtattr attribute;
  struct in6_addr address;
};

static void add_address(int netlink, int interface, int family, const void *address, size_t length) {
  struct new_address message = {
      .header = {.nlmsg_type = RTM_NEWADDR, .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL},
      .about = {.ifa_family = (uint8_t)family,
                .ifa_prefixlen = (uint8_t)(8 * length),
                .ifa_scope = RT_SCOPE_HOST,
                .ifa_index = (uint32_t)interface},
      .attribute = {.rta_type = IFA_LOCAL, .rta_len = (unsigned short)RTA_LENGTH(length)},
  };
  memcpy(&message.address, address, length);
  message.header.nlmsg_len = (uint32_t)(offsetof(struct new_address, address) + length);
  (void)send(netlink, &message, message.header.nlmsg_len, 0);
}

/*
 * A second address of each family. The C library leaves out a family of which a machine has nothing but 127.0.0.1 or
 * ::1 where a program asks so (AI_ADDRCONFIG), and `localhost` would have no address for it. A kernel that refuses one
 * of them leaves it at that.
 */
static void add_second_addresses(int interface) {
  const struct in_addr older = {.s_addr = htonl(INADDR_LOOPBACK + 1)};
  const struct in6_addr newer = {.s6_addr = {[0] = 0xfd, [15] = 2}};
  int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (netlink < 0) return;
  add_address(netlink, interface, AF_INET, &older, sizeof older);
  add_address(netlink, interface, AF_INET6, &newer, sizeof newer);
  close(netlink);
}

void bring_loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0 || ioctl(handle, SIOCSIFFLAGS, &request) != 0) fail("bringing loopback up");
  close(handle);
  add_second_addresses((int)if_nametoindex("lo"));
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
