/* The jail's own network: loopback alone. */
#include "jail.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void bring_loopback_up(void)
{
	struct ifreq request;
	memset(&request, 0, sizeof request);
	strcpy(request.ifr_name, "lo");
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (handle < 0 || ioctl(handle, SIOCSIFFLAGS, &request) != 0)
		fail("bringing loopback up");
	close(handle);
}
