/** Who reads what of the record: the operator everything, an agent its own and what its policy says, by whichever way it is asked. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { library, linesOf, recordPlace } from '../../audit/record-fixture.js';
import { parsePolicy } from '../../authority/policy.js';
import type { Host } from '../../proxy/host.js';
import { AuditRecord } from './record.js';
import { rotateKey, sealRecord } from './record-proof.js';

const place = recordPlace();
after(() => place.remove());

const policies: Readonly<Record<string, string>> = {
  alone: '',
  reader: 'allow reader_t agent:alone read\n',
  other: 'allow other_t agent:alone write\nallow reader_t agent:reader read\n',
};
const host = {
  uid: process.geteuid?.() ?? 0,
  gid: process.getegid?.() ?? 0,
  home: dirname(place.directory),
  store: { directory: join(dirname(place.directory), 'store') },
  audit: { record: place.directory, library },
  agents: async (name: string) => ({
    policy: parsePolicy(policies[name] ?? '', 'policy'),
    identity: { label: { type: `${name}_t` } },
  }),
} as unknown as Host;
const names = ['alone', 'reader', 'other'];
const record = (as?: string) => new AuditRecord(host, { as });

before(() => {
  const recorder = place.recorder();
  for (const agent of [null, ...names]) {
    recorder.append({ type: 'exec', object: 'fork/1/main', agent, session: null, status: 'ok', facts: {} } as never);
  }
});

/** As whom, and whose records are read. */
const readable: Readonly<Record<string, readonly string[]>> = {
  alone: ['alone'],
  reader: ['alone', 'reader'],
  other: ['other'],
};
const chainOf = (name: string) => `agent/${name}`;

describe('records', () => {
  it('are found by whom they are for', async () => {
    const agentsOf = (found: readonly { readonly body: { readonly agent: string | null } }[]) =>
      found.map(({ body }) => body.agent);
    assert.deepEqual(agentsOf(await record().find()).sort(), ['alone', null, 'other', 'reader'].sort());
    for (const as of names) {
      assert.deepEqual(agentsOf(await record(as).find()).sort(), readable[as], as);
      assert.deepEqual(agentsOf(await record(as).find({ all: true, type: 'exec' })).sort(), readable[as], as);
      for (const agent of names) {
        const found = record(as).find({ agent });
        if (readable[as]?.includes(agent)) assert.deepEqual(agentsOf(await found), [agent]);
        else await assert.rejects(found, { code: 'EACCES' }, `${agent} as ${as}`);
      }
    }
  });

  it('are shown by their place to whom they are for', async () => {
    const seqOf = (chain: string) => linesOf(place.directory, chain).findIndex((line) => line.includes('"exec"')) + 1;
    for (const chain of ['person', 'host', ...names.map(chainOf)]) {
      for (const as of names) {
        const mayRead = readable[as]?.some((name) => chainOf(name) === chain) === true;
        const shown = record(as).at(`${chain}:${chain === 'host' ? 1 : seqOf(chain)}`);
        if (mayRead) assert.equal((await shown).body.type, 'exec');
        else await assert.rejects(shown, { code: 'EACCES' }, `${chain} as ${as}`);
      }
    }
    assert.equal((await record().at(String(seqOf('person')))).chain, 'person');
    for (const text of [
      '',
      'x',
      'person:',
      'person:0',
      'person:-1',
      'person:1.5',
      '../person:1',
      'agent/:1',
      'a b:1',
    ]) {
      await assert.rejects(record().at(text), { code: 'EINVAL' }, text);
    }
    await assert.rejects(record().at('person:999'), { code: 'ENOENT' });
  });

  it('each continue from the head of the one before, which is shown with them', async () => {
    const [first, second] = await Promise.all([record().at('person:1'), record().at('person:2')]);
    assert.equal(second.previous, first.head);
    assert.notEqual(first.previous, first.head);
  });

  it('that name a file are looked through by those alone who may read them', async () => {
    const origin = join(realpathSync(dirname(place.directory)), 'work');
    mkdirSync(join(origin, '.git'), { recursive: true });
    writeFileSync(join(origin, 'file'), '');
    const found = (as?: string) =>
      record(as)
        .blame(join(origin, 'file'))
        .then(
          ({ command }) => command.body.agent,
          (error: { code?: string }) => error.code,
        );
    assert.equal(await found(), 'ENOENT');
    let time = 1_000;
    const tick = () => {
      time += 1_000;
      return time;
    };
    const recorder = place.recorder({ now: () => new Date(tick()) });
    for (const [agent, seen] of [
      ['other', ['other', 'ENOENT', 'ENOENT', 'other']],
      ['alone', ['alone', 'alone', 'alone', 'other']],
      [null, [null, 'alone', 'alone', 'other']],
    ] as const) {
      const facts = { origin, workspace: origin, changes: ['modified file'] };
      recorder.append({ type: 'exec', object: 'fork/1/main', agent, session: null, status: 'ok', facts } as never);
      assert.deepEqual(await Promise.all([found(), ...names.map(found)]), seen, String(agent));
    }
  });

  it('are sealed, exported and given new keys by the operator alone', async () => {
    const to = join(dirname(place.directory), 'exported');
    for (const as of names) {
      for (const act of [
        () => record(as).seal(),
        () => record(as).rotateKey(),
        () => record(as).revokeKey('0'.repeat(64)),
        () => record(as).exportTo(to),
      ]) {
        await assert.rejects(act, { code: 'EACCES' }, String(act));
      }
    }
    rmSync(to, { recursive: true, force: true });
  });

  it('keep no file open in a process that seals them and makes new keys again and again', () => {
    const own = recordPlace();
    const directory = dirname(own.directory);
    const audit = { record: own.directory, library, root: join(directory, 'root'), settings: join(directory, 'none') };
    const sealing = { ...host, audit, now: () => new Date() } as unknown as Host;
    const open = () => readdirSync('/proc/self/fd').length;
    own.recorder().append({ type: 'exec', object: 'fork/1/main', agent: null, status: 'ok', facts: {} });
    const before = open();
    for (let count = 0; count < 5; count += 1) {
      sealRecord(sealing);
      rotateKey(sealing);
    }
    assert.equal(open(), before);
    own.remove();
  });

  it('that were exported are themselves, and are only read', async () => {
    const directory = join(dirname(place.directory), 'elsewhere');
    const exported = new AuditRecord(host, { directory });
    for (const act of [
      () => exported.seal(),
      () => exported.rotateKey(),
      () => exported.revokeKey('0'.repeat(64)),
      () => exported.exportTo(`${directory}-again`),
    ]) {
      await assert.rejects(act, { code: 'EINVAL', path: directory }, String(act));
    }
    // Nothing is there: the keys are not those of this host, nor is a file looked for in its record.
    await assert.rejects(exported.keys(), { code: 'ENOENT', path: directory });
    await assert.rejects(exported.blame(join(dirname(place.directory), 'work/file')), {
      code: 'ENOENT',
      path: directory,
    });
  });
});
