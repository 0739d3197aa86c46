/**
 * A kept jail whose fork was taken down and put back, against what it was at first: every mount in the fork, with its place and
 * its attributes, and what is in each. And the files of the host that these are made of, changed meanwhile.
 */
import assert from 'node:assert/strict';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import type { JailView } from '../../src/jail/jail-view.js';
import type { Operation } from '../../src/jail/operation.js';
import type { SharedPath } from '../../src/jail/plan.js';
import { type BareKeptJail, bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';
import { temporaryRoot } from '../support/program.js';

const jail = bareJail();
const inBase = (...names: readonly string[]) => join(jail.base, ...names);
const elsewhere = mkdtempSync(join(temporaryRoot(), 'ctx-elsewhere-'));
after(() => rmSync(elsewhere, { recursive: true, force: true }));

function own(path: string): string {
  if (bareUser.uid !== undefined) chownSync(path, bareUser.uid, bareUser.gid);
  return path;
}

function directory(path: string): void {
  mkdirSync(path, { recursive: true });
  own(path);
}

function file(path: string, text: string): string {
  writeFileSync(path, text);
  return own(path);
}

own(elsewhere);
for (const name of [
  'second',
  'second-upper',
  'second-work',
  'files',
  'shown/deep',
  'layer/part',
  'layer/inner',
  'layer/secret',
])
  directory(inBase(name));
directory(join(elsewhere, 'of-link'));
file(join(elsewhere, 'of-link', 'by-link'), 'by a link');
symlinkSync(join(elsewhere, 'of-link'), inBase('linked'));
file(inBase('files', 'file'), 'old');
file(inBase('shown', 'deep', 'text'), 'shown');
file(inBase('layer', 'part', 'text'), 'part');
file(inBase('layer', 'secret', 'text'), 'secret');
file(inBase('second', 'text'), 'second');

const view: Partial<JailView> = {
  overlays: [
    { target: '/workspace', lower: ['linked', 'layer'], upper: 'upper', work: 'work' },
    { target: '/second', lower: ['second'], upper: 'second-upper', work: 'second-work' },
  ],
};
const ofBase: readonly SharedPath[] = [
  { source: inBase('shown'), target: '/workspace/shown', access: 'read only' },
  { source: inBase('files', 'file'), target: '/workspace/file', access: 'read write' },
];
/** It is directly in the root of the host, which is kept for it. */
const ofRoot: SharedPath = { source: '/usr', target: '/workspace/inner/usr', access: 'read only' };
const options: PlanOptions = { weakened: ['landlock', 'seccomp'], more: view };

const masked: readonly Operation[] = [
  { do: 'mask', path: '/workspace/secret' },
  { do: 'make read only', path: '/workspace/shown/deep' },
];
const repeated: readonly Operation[] = [
  { do: 'again', source: '/workspace/part', target: '/again', attributes: ['read only', 'no setuid', 'no devices'] },
  { do: 'again', source: '/workspace', target: '/whole', attributes: ['no setuid', 'no devices'] },
  { do: 'again', source: '/workspace/part', target: '/whole/inner/part', attributes: ['no devices'] },
  {
    do: 'again',
    source: '/workspace/shown',
    target: '/workspace/inner/shown',
    attributes: ['read only', 'no devices'],
  },
];
const planWith = (shared: readonly SharedPath[]): readonly Operation[] =>
  jail
    .keptPlans([], { ...options, shared })
    .jail.flatMap((operation) => (operation.do === 'pivot' ? [...masked, ...repeated, operation] : [operation]));
const overlays = planWith([]).filter((operation) => operation.do === 'overlay');

const looking = `exec > /home/user/seen 2>&1
cut -d' ' -f4-6 /proc/self/mountinfo | grep -v ' /proc' | sort
cd /workspace
for each in by-link file part/text shown/deep/text /second/text inner/shown/deep/text /again/text /whole/part/text /whole/inner/part/text
do echo "$each: $(cat $each)"; done
ls secret /whole/secret; test -x inner/usr/bin/env && echo programs
for each in . inner shown shown/deep inner/shown secret /second /again /whole inner/usr
do touch $each/new && { echo "$each is written"; rm $each/new; }; done; true`;

async function look(kept: BareKeptJail): Promise<readonly string[]> {
  const { command } = jail.keptPlans(['sh', '-c', looking], options);
  assert.equal(await kept.run(command), 0);
  return readFileSync(inBase('home', 'seen'), 'utf8').split('\n');
}

/** In the fork, or shown from it: of those that the whole jail has. */
const mountsOfFork = (pid: number) =>
  readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
    .split('\n')
    .filter((line) => / - overlay ctx-| \/(?:workspace|again|whole|second)/.test(line));

it('a fork that is put back is what it was, as often as that is done', async () => {
  const kept = await jail.keep(planWith([...ofBase, ofRoot]));
  try {
    const before = await look(kept);
    for (const [each, line] of [
      ['a link to a layer', 'by-link: by a link'],
      ['a file', 'file: old'],
      ['another directory of the fork', '/second/text: second'],
      ['what is shown once more', '/again/text: part'],
      ['what is shown once more in that', '/whole/inner/part/text: part'],
      ['what is shown once more inside', 'inner/shown/deep/text: shown'],
      ['the system', 'programs'],
    ] as const)
      assert.ok(before.includes(line), `${each}: ${before.join('\n')}`);
    assert.deepEqual(
      before.filter((line) => / is written$/.test(line)).map((line) => line.split(' ')[0]),
      ['.', 'inner', '/second', '/whole'],
    );
    const mounted = mountsOfFork(kept.pid).length;
    for (let round = 0; round < 2; round += 1) {
      assert.match(await kept.release(), / released$/);
      assert.deepEqual(mountsOfFork(kept.pid), []);
      assert.match(await kept.mount(overlays), / mounted$/);
      assert.deepEqual(await look(kept), before);
      assert.equal(mountsOfFork(kept.pid).length, mounted);
    }
    // Written anew meanwhile, as editors do it: by another file in its place.
    assert.match(await kept.release(), / released$/);
    renameSync(file(inBase('files', 'next'), 'new'), inBase('files', 'file'));
    assert.match(await kept.mount([...overlays, { do: 'make read only', path: '/workspace' }]), / mounted$/);
    const changed = await look(kept);
    assert.ok(changed.includes('file: new'), changed.join('\n'));
    assert.deepEqual(
      changed.filter((line) => / is written$/.test(line)),
      ['/second is written'],
      'all but the other',
    );
  } finally {
    await kept.end();
  }
});

it('a fork is put back of what its own plan names: layers that are links, and the places of single files', async () => {
  const kept = await jail.keep(planWith(ofBase));
  try {
    const before = await look(kept);
    for (const line of ['by-link: by a link', 'shown/deep/text: shown']) assert.ok(before.includes(line), line);
    assert.match(await kept.release(), / released$/);
    assert.match(await kept.mount(overlays), / mounted$/);
    assert.deepEqual(await look(kept), before);
  } finally {
    await kept.end();
  }
});
