import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import type { Host } from '../proxy/host.js';
import { type AskedJail, decideCommand } from './decided-command.js';
import type { KeptCommand } from './jail-request.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-decided-')));
after(() => rmSync(base, { recursive: true, force: true }));
const [app, other] = [join(base, 'app'), join(base, 'other')];
for (const directory of [join(app, '.git'), join(app, 'deep'), join(other, '.git')]) {
  mkdirSync(directory, { recursive: true });
}

/** What comes after what is tested here asks for an agent. */
const host = {
  store: { directory: join(base, 'store') },
  home: join(base, 'home'),
  uid: 1000,
  gid: 1000,
  environment: {},
  recorder: { append: () => undefined },
  agents() {
    throw new ErrnoError('ENOSYS', { operation: 'x', reason: 'it was decided about' });
  },
} as unknown as Host;
const asked: AskedJail = {
  id: 'jail-1',
  host,
  request: { cwd: app, environmentAdditions: [], agent: 'ada' } as unknown as AskedJail['request'],
  origin: app,
  resolved: {} as AskedJail['resolved'],
};
const decide = (command: object) =>
  decideCommand(asked, {
    cwd: app,
    argv: ['true'],
    environmentAdditions: [],
    ...command,
  } as unknown as KeptCommand).then(
    () => 'decided',
    (error) => (error instanceof ErrnoError ? error.code : String(error)),
  );

it('a kept jail decides about commands of its own workspace alone, and of what can still be run', async () => {
  assert.equal(await decide({}), 'ENOSYS', 'it was asked about');
  assert.equal(await decide({ cwd: join(app, 'deep') }), 'ENOSYS');
  assert.equal(await decide({ cwd: other }), 'ESTALE', 'another workspace');
  assert.equal(await decide({ cwd: join(base, 'none') }), 'ENOENT');
  for (const argv of [[], ['']]) assert.equal(await decide({ argv }), 'EINVAL');
  assert.equal(await decide({ signal: AbortSignal.abort() }), 'ECANCELED');
});
