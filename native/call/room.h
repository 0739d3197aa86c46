/* Whether Node can be started (room.c). */
#ifndef CTX_CALL_ROOM_H
#define CTX_CALL_ROOM_H

#include <stdbool.h>

/* False where it cannot; why, and what to do, has been said then. */
bool has_room_for_node(void);

#endif
