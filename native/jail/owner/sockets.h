/*
 * The sockets of an agent's view are in a directory of the host, by which the jail's own processes call. The process
 * that started the jail made it and takes it away; where that one was killed, the owner does.
 */
#ifndef CTX_JAIL_SOCKETS_H
#define CTX_JAIL_SOCKETS_H

struct jail_context;

/* The descriptor is of that directory, or of nothing. A jail that fails takes it away, too. */
void keep_sockets(struct jail_context *jail, int descriptor);
/* Once nothing runs inside any more. Nothing happens where that process lives, or the jail was given no directory. */
void end_sockets(const struct jail_context *jail);

#endif
