/** The filter beside plain rules: calls that are judged by their arguments, and all others, for each kind of filter. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { runFilter } from '../../test/support/filter-machine.js';
import { type FilterFor, refusalReason, seccompProgram } from './seccomp.js';
import { systemCalls } from './system-calls.js';

const [allow, tell] = [0x7fff0000, 0x7fc00000];
const fail = (errno: number) => 0x00050000 | errno;
const audit = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

type Arguments = readonly [number, number, number, number];
type Rule = (values: Arguments, nesting: boolean, high: number) => number;

/** As the kernel's manuals number what is asked. */
const rules: Readonly<Record<string, Rule>> = {
  clone: ([flags], nesting) => ((flags & (nesting ? 0x8000 : 0x7e028000)) !== 0 ? tell : allow),
  ptrace([request, , , options]) {
    if (request === 0x420c || request === 0x420d) return tell;
    return (request === 0x4200 || request === 0x4206) && (options & (1 << 21)) !== 0 ? tell : allow;
  },
  ioctl: ([, request]) => ([0x5412, 0x541c, 0x5423].includes(request) ? tell : allow),
  socket([family, type, protocol]) {
    if (family === 1) return allow;
    if (family === 16) return protocol === 0 || protocol === 4 ? allow : fail(93);
    if (family !== 2 && family !== 10) return fail(97);
    if ((type & 0xc) !== 0) return fail(94);
    return [0, 6, 17, 1, 58].includes(protocol) ? allow : fail(93);
  },
  setsockopt([, level, option], nesting) {
    if (level === 6) return option === 31 ? fail(92) : allow;
    if (!nesting) return allow;
    if (level === 0) return option >>> 0 >= 64 ? tell : allow;
    return level === 41 && (option === 64 || option === 65) ? tell : allow;
  },
  socketpair: ([family]) => (family === 1 ? allow : fail(97)),
  setrlimit: ([resource]) => (resource === 4 ? fail(0) : allow),
  prlimit64: ([, resource, pointer], _nesting, high) =>
    resource === 4 && (pointer !== 0 || high !== 0) ? fail(0) : allow,
};

/** What means something to one of them, and the numbers of calls that are refused: a value that is taken for one. */
const telling = [
  0,
  1,
  2,
  4,
  5,
  6,
  7,
  10,
  12,
  16,
  17,
  31,
  32,
  41,
  58,
  63,
  64,
  65,
  66,
  92,
  165,
  272,
  97,
  40,
  308,
  1 << 21,
  0x4200,
  0x4206,
  0x420c,
  0x420d,
  0x420e,
  0x5411,
  0x5412,
  0x541c,
  0x5423,
  0x8000,
  0x20000,
  0x10000000,
  0x7e020000,
  0x80000,
  0x7fffffff,
  0xffffffff,
];
const value = fc.oneof(fc.constantFrom(...telling), fc.nat({ max: 600 }), fc.integer({ min: 0, max: 0xffffffff }));
const kind: fc.Arbitrary<FilterFor> = fc.record({
  architecture: fc.constantFrom('x64' as const, 'arm64' as const),
  overlays: fc.boolean(),
  renumbers: fc.boolean(),
  nesting: fc.boolean(),
});

function verdict(filter: FilterFor, name: string, values: Arguments, high: number): number {
  const number = systemCalls[filter.architecture].get(name);
  if (number === undefined) return -1;
  const pointer = name === 'prlimit64' ? values[2] + high * 2 ** 32 : values[2];
  return runFilter(seccompProgram(filter), {
    architecture: audit[filter.architecture],
    number,
    arguments: [values[0], values[1], pointer, values[3]],
  });
}

describe('the filter of system calls', () => {
  for (const [name, rule] of Object.entries(rules)) {
    it(`judges ${name} by its arguments as it has to`, () => {
      fc.assert(
        fc.property(kind, value, value, value, value, fc.constantFrom(0, 0, 1), (filter, a, b, c, d, high) => {
          const found = verdict(filter, name, [a, b, c, d], high);
          if (found !== -1) assert.equal(found >>> 0, rule([a, b, c, d], filter.nesting, high) >>> 0);
        }),
        seeded(1500),
      );
    });
  }

  it('judges every other call by its number alone', () => {
    const renames = new Set(['rename', 'renameat', 'renameat2']);
    const links = new Set(['link', 'linkat']);
    const own = new Set(['unshare', 'setns', 'chroot']);
    const expected = (name: string, { overlays, renumbers, nesting }: FilterFor) => {
      if (name === 'clone3') return fail(38);
      if (nesting && own.has(name)) return allow;
      const isTold =
        refusalReason(name) !== 'this use of it' || (overlays && renames.has(name)) || (renumbers && links.has(name));
      return isTold ? tell : allow;
    };
    const flags = [false, true];
    for (const architecture of ['x64', 'arm64'] as const)
      for (const overlays of flags)
        for (const renumbers of flags)
          for (const nesting of flags) {
            const filter = { architecture, overlays, renumbers, nesting };
            for (const name of systemCalls[architecture].keys()) {
              if (name in rules) continue;
              const [one, other] = [
                verdict(filter, name, [0, 0, 0, 0], 0),
                verdict(filter, name, [0xffffffff, 0x5412, 64, 1 << 21], 0),
              ];
              assert.deepEqual([one, other], [expected(name, filter), expected(name, filter)], name);
            }
          }
  });

  it('knows why it refuses each, and is a copy each time', () => {
    const filter = { architecture: 'x64', overlays: true, renumbers: true, nesting: false } as const;
    const first = seccompProgram(filter);
    first.fill(0);
    assert.notDeepEqual(seccompProgram(filter), first);
    assert.equal(refusalReason('read'), 'this use of it');
  });
});
