/*
 * The command's stdin, stdout and stderr. An anonymous pipe or /dev/null is passed on as it is; terminals become one of
 * the jail's own where both stdin and stdout are one (terminal.c). Anything else (a lone terminal, a file the person
 * redirected to, a socket of the caller's runtime) is replaced by a pipe and copied: through /proc/self/fd a file can
 * be opened again for more than its descriptor grants, and a socket cannot be opened at all, which breaks scripts that
 * write to /dev/stderr.
 */
#include "owner/relay.h"
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool harmless(int descriptor) {
  struct stat about;
  if (fstat(descriptor, &about) != 0) return true; /* closed: there is nothing to pass on */
  struct statfs where;
  if (S_ISFIFO(about.st_mode)) /* one with a name on disk could be given another mode */
    return fstatfs(descriptor, &where) == 0 && where.f_type == PIPEFS_MAGIC;
  return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

void relays_open(int processes, bool terminal, struct relay relays[RELAYS]) {
  for (int i = 0; i < RELAYS; i++) {
    struct relay *relay = &relays[i];
    relay_clear(relay);
    if (harmless(i)) continue;
    if (i > 0) relay_open_anew(processes, i);
    if (terminal && isatty(i)) continue;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("making a pipe for the command");
    relay->command_end = ends[i == 0 ? 0 : 1];
    relay->from = i == 0 ? 0 : ends[0];
    relay->to = i == 0 ? ends[1] : i;
    /* The command's own end stays blocking: it is another open file. */
    fcntl(i == 0 ? ends[1] : ends[0], F_SETFL, O_NONBLOCK);
  }
}

/* Where the command is another user than the pipe's owner, this is what it may do with it. */
static int open_to_others(int descriptor, mode_t right) {
  struct stat about;
  return fstat(descriptor, &about) != 0 ? -1 : fchmod(descriptor, (about.st_mode & 07777) | right);
}

/*
 * A pipe belongs to the process that made it, and opening it again (/dev/stderr) asks for that: where the command is
 * another user than its caller, pipes that are made here become the command's. One of the person's stays theirs, and is
 * opened in the one direction alone: others may write to it, whose words are not the command's to read. A named one on
 * disk is left alone.
 */
void relays_give(struct relay relays[RELAYS], uid_t uid, gid_t gid) {
  for (int i = 0; i < RELAYS; i++) {
    int made = relays[i].command_end;
    struct statfs about;
    if (fstatfs(made >= 0 ? made : i, &about) != 0 || about.f_type != PIPEFS_MAGIC) continue;
    if ((made >= 0 ? fchown(made, uid, gid) : open_to_others(i, i == 0 ? S_IROTH : S_IWOTH)) != 0)
      fail("giving the command its pipes");
  }
}

/* In the process that becomes the command. */
void relays_take(struct relay relays[RELAYS]) {
  for (int i = 0; i < RELAYS; i++)
    if (relays[i].command_end >= 0 && dup2(relays[i].command_end, i) < 0) fail("connecting the command");
}

/* In the owner, once the command has started or will not. */
void relays_keep(struct relay relays[RELAYS]) {
  for (int i = 0; i < RELAYS; i++) {
    if (relays[i].command_end >= 0) close(relays[i].command_end);
    relays[i].command_end = -1;
  }
}

/* More than a terminal holds, and an end of what somebody left behind writes without one. */
enum { FLUSH_MOST_MOVES = 512 };

bool relays_flush(struct relay relays[RELAYS], unsigned *moves) {
  bool all = true;
  for (int i = 1; i < RELAYS; i++) {
    struct pollfd wanted = relay_wants(&relays[i]);
    for (; *moves < FLUSH_MOST_MOVES && wanted.fd >= 0 && poll(&wanted, 1, 0) > 0; ++*moves) {
      relay_move(relays, i);
      wanted = relay_wants(&relays[i]);
    }
    if (wanted.fd >= 0 && wanted.events == POLLOUT) all = false;
  }
  return all;
}

void relays_close(struct relay relays[RELAYS]) {
  for (int i = 0; i < RELAYS; i++) {
    if (relays[i].from >= 0) close(relays[i].from);
    if (relays[i].to >= 0) close(relays[i].to);
  }
}

/*
 * A pipe is opened again (/dev/stderr) by its owner alone: where the command is another user than its caller, it is
 * given them.
 */
void give_streams(const struct plan *jail, const struct plan *command, struct relay relays[RELAYS]) {
  const struct operation *shift = find(jail, OP_SHIFT), *numbers = find(jail, OP_NUMBERS);
  const struct operation *outside = numbers ? numbers : find(command, OP_USER);
  if (shift && outside)
    relays_give(relays, high_half(shift->number) + high_half(outside->number),
                high_half(shift->number) + low_half(outside->number));
}
