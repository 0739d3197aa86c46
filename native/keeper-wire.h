/*
 * What `native/call` and a keeper say to each other, over a socket of packets (SOCK_SEQPACKET):
 *
 *   keeper  HELLO, as soon as it sees the call: descriptors sent to one that is stopped would stay open in its queue
 *   call    ASK, with six descriptors: the request in a file of memory, the directory, the three standard streams, and a
 *           socket to the caller where that carries the person's terminal (terminal-wire.h), else the request again
 *   keeper  COLD: run it yourself; or READY and a process (i32), which is the call's own and has done nothing yet
 *   call    GO: from here on it is that process that does it
 *   process DONE and its exit code (u8): nothing of the caller's is open or in use there any more; or
 *           ENDED and its exit code, and then its end is to be waited for
 *   keeper  STATUS and how the process ended (i32), as the kernel has it
 *
 * Before GO the call may go away and nothing has happened. Afterwards the end of the call is the end of the process.
 *
 * The request is NUL-ended strings: the version; the device and inode of the Node that would be started; what of the
 * caller only it can know (`own_traits` of native/call) and the keeper's own word (`read_keeper_word`); how many words; the words, the first of which is the program;
 * the environment.
 */
#ifndef CTX_KEEPER_WIRE_H
#define CTX_KEEPER_WIRE_H

enum {
  PACKET_HELLO = 'H',
  PACKET_ASK = 'A',
  PACKET_COLD = 'C',
  PACKET_READY = 'R',
  PACKET_GO = 'G',
  PACKET_ENDED = 'E',
  PACKET_DONE = 'D',
  PACKET_STATUS = 'S'
};

enum { SENT_REQUEST, SENT_DIRECTORY, SENT_INPUT, SENT_OUTPUT, SENT_ERROR, SENT_TERMINAL, SENT_DESCRIPTORS };

#define KEEPER_WIRE_VERSION "1"

/* Words and environment: what the kernel takes for a program by default is half of it. */
enum { REQUEST_MOST = 4 << 20 };

#endif
