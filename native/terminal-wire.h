/*
 * What is said to the process that carries the person's terminal for a call that a keeper runs: `native/call`, which is
 * in the person's session and in the shell's job. Over a pair of sockets (SOCK_SEQPACKET) that comes with the call:
 *
 *   owner  OF_COMMAND and the command's process (i32), with the other side of its terminal. Answered when the person's
 *          terminal is raw: from here on it is copied there, and a key that stops the command stops the call
 *   owner  UNREAD: the command has ended. Not answered; what is typed from here on stays for the shell
 *   owner  ENDS: everything inside has ended. Answered when all that it wrote is shown, and the modes are as before
 *   owner  GIVEN_UP, where it fails: things inside may still write. Answered when the modes are as before
 *   call   TYPED, with a socket: what is typed from here on at /dev/tty goes there, until it is closed
 *
 * An answer is one byte, the same.
 */
#ifndef CTX_TERMINAL_WIRE_H
#define CTX_TERMINAL_WIRE_H

enum {
  TERMINAL_OF_COMMAND = 'T',
  TERMINAL_UNREAD = 'U',
  TERMINAL_ENDS = 'E',
  TERMINAL_GIVEN_UP = 'G',
  TERMINAL_TYPED = 'Q'
};

#endif
