/*
 * The sockets of an agent's view are in a directory of the host, by which the jail's own processes call. The process
 * that started the jail made it and takes it away; where that one was killed, the owner does.
 */
#ifndef CTX_JAIL_SOCKETS_H
#define CTX_JAIL_SOCKETS_H

struct jail_context;

/* Once nothing runs inside any more. Nothing happens where that process lives, or the jail was given no directory. */
void remove_sockets(const struct jail_context *jail);

#endif
