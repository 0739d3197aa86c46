/** More faults in keepers, network, trees and the faces that no close test had noticed. */
const calls = 'native/keeper.node/calls.c';

export const chosenMoreFaces = [
  {
    file: calls,
    from: 'if (count == MOST_CALLS || peer_of(connection) <= 0) {',
    to: 'if (peer_of(connection) <= 0) {',
    why: 'one connection too many would be written behind the list of calls',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: calls,
    from: 'now() - calls[place].since > SILENT_MILLISECONDS',
    to: 'false',
    why: 'callers that ask nothing would fill the list, and no call would be served any more',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: calls,
    from: ' ||\n      peer.gid != getegid())',
    to: ')',
    why: 'a caller of another group would be served with this one’s',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: calls,
    from: '    if (before > 0 && calls_followed() == 0) return NEXT_NOTHING;\n',
    to: '',
    why: 'the next copy would not be made when the last caller has gone',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: calls,
    from: '  signal(SIGTERM, SIG_DFL);\n',
    to: '',
    why: 'the process of a call could not be ended by SIGTERM',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: calls,
    from: '  while (count > 0) let_go(count - 1);\n',
    to: '',
    why: 'a call would hold the connections of the others',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: calls,
    from: 'if (unlinkat(directory, name, 0) != 0 && errno != ENOENT) return errno;',
    to: '',
    why: 'a keeper would not listen where one was killed',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: 'native/keeper.node/process.c',
    from: '  prctl(PR_SET_PDEATHSIG, SIGKILL);\n',
    to: '',
    why: 'a call would outlive its keeper, whose caller has been told that it ended',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: 'native/keeper.node/process.c',
    from: '  restore_streams();\n  if (caller < 0',
    to: '  if (caller < 0',
    why: 'a pipe of the caller’s would stay one that does not wait',
    tests: ['keeper/keeper-calls'],
  },
  {
    file: 'native/peer.node/peer.c',
    from: 'size != (size_t)count * sizeof *theirs || ',
    to: '',
    why: 'who lacks a further group of root’s would count as having it',
    tests: ['kept-jail/peer'],
  },
  {
    file: 'src/sdk/vfs/vfs.ts',
    from: '          if (!isGone(error)) throw error;\n',
    to: '          throw error;\n',
    why: 'a tree would be left in half and reported as removed, where somebody else removes some of it',
    tests: ['sdk/vfs/vfs-paths'],
  },
];
