/**
 * A TPM as anchor, played by swtpm: the process that holds the key and every file still cannot take back what was
 * anchored.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commandAnchor } from '../../src/audit/anchor/command-anchor.js';
import { defaultTpm, tpmAnchor } from '../../src/audit/anchor/tpm-anchor.js';
import { directoryReader } from '../../src/audit/reader.js';
import { library, recordPlace } from '../../src/audit/record-fixture.js';
import { ChainRecorder } from '../../src/audit/recorder.js';
import { sealAll } from '../../src/audit/seal.js';
import { verify } from '../../src/audit/verify.js';
import { until } from '../support/process.js';

const missing = ['swtpm', 'tpm2_nvread'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
const skip = missing.length > 0 && `${missing.join(' and ')} not installed`;

const base = mkdtempSync(join(tmpdir(), 'ctx-tpm-test-'));
const socket = join(base, 'socket');
let tpm: ChildProcess | undefined;

before(async () => {
  if (skip !== false) return;
  mkdirSync(join(base, 'state'));
  const channels = ['--server', `type=unixio,path=${socket}`, '--ctrl', `type=unixio,path=${socket}.ctrl`];
  const flags = ['--flags', 'not-need-init,startup-clear'];
  tpm = spawn('swtpm', ['socket', '--tpm2', '--tpmstate', `dir=${join(base, 'state')}`, ...channels, ...flags], {
    stdio: 'ignore',
  });
  await until(() => existsSync(socket) && existsSync(`${socket}.ctrl`), 'swtpm listens');
});
after(() => {
  tpm?.kill('SIGKILL');
  rmSync(base, { recursive: true, force: true });
});

/** Seconds later each time, so that no two records are of one time. */
function recorderOf(record: string, start: number): ChainRecorder {
  let time = start;
  const now = () => {
    time += 1000;
    return new Date(time);
  };
  return new ChainRecorder({ record, library, now });
}

describe('a TPM as anchor', { skip }, () => {
  const anchor = tpmAnchor({ ...defaultTpm, tcti: `swtpm:path=${socket}` });

  it('holds the root: what was anchored passes, a record made anew by the holder of the key does not', () => {
    const place = recordPlace();
    try {
      const recorder = recorderOf(place.directory, 0);
      const check = (anchors = [anchor]) => verify({ reader: directoryReader(place.directory), anchors });
      for (const argv of ['one', 'two', 'three']) {
        recorder.append({ type: 'exec', object: 'x', status: 'ok', facts: { argv } });
        const { anchors } = sealAll(recorder, [anchor]);
        assert.deepEqual(
          anchors.map(({ error }) => error),
          [undefined],
        );
        const { ok, problems, warnings } = check();
        assert.ok(ok, JSON.stringify(problems));
        assert.deepEqual(
          warnings.filter(({ fault }) => fault === 'anchor'),
          [],
        );
      }
      const value = anchor.read();
      assert.ok(value.kind === 'extended' && value.counter >= 4);
      recorder.close();

      // Everything but the key goes, and the same story is told anew, with one command left out.
      for (const name of ['host', 'person']) rmSync(join(place.directory, name), { recursive: true });
      rmSync(join(place.directory, 'key', 'current'));
      const forged = recorderOf(place.directory, 0);
      for (const argv of ['one', 'three']) {
        forged.append({ type: 'exec', object: 'x', status: 'ok', facts: { argv } });
        sealAll(forged, []);
      }
      assert.ok(check([]).ok, 'without the anchor nobody sees it');
      const [caught] = check().problems;
      assert.equal(caught?.fault, 'anchor');
      assert.match(caught?.text ?? '', /rewritten, cut off or rolled back/);
      const { anchors } = sealAll(recorderOf(place.directory, 10_000_000), [anchor]);
      assert.match(anchors[0]?.error ?? 'nothing new', /rewritten|nothing new/);
    } finally {
      place.remove();
    }
  });
});

describe('a command as anchor', () => {
  it('is given every point and asked for them; one that fails is named, and recorded as not written', () => {
    const place = recordPlace();
    try {
      const kept = join(base, 'points');
      const script = `case $1 in commit) cat >> ${kept};; read) cat ${kept} 2>/dev/null || true;; esac`;
      const anchor = commandAnchor(['/bin/sh', '-c', script, 'anchor']);
      const broken = commandAnchor(['/bin/sh', '-c', 'test "$1" = read', 'anchor']);
      const recorder = recorderOf(place.directory, 0);
      recorder.append({ type: 'exec', object: 'x', status: 'ok' });
      const first = sealAll(recorder, [anchor, broken]);
      assert.equal(first.anchors[0]?.error, undefined);
      assert.match(first.anchors[1]?.error ?? '', /EIO/);
      recorder.append({ type: 'exec', object: 'x', status: 'ok' });
      sealAll(recorder, [anchor]);
      const { ok, anchors, problems } = verify({ reader: directoryReader(place.directory), anchors: [anchor, broken] });
      assert.ok(ok, JSON.stringify(problems));
      assert.deepEqual(anchors, [anchor.name]);
    } finally {
      place.remove();
    }
  });
});
