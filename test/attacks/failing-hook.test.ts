/**
 * A hook that fails, in every way that programs fail, before a harness that lets through what was not refused. Called as it is,
 * each failure lets the command run outside of the jail; as `ctx hook install` calls it, none does.
 */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { letsThrough } from '../support/forgiving-harness.js';
import { keeperOff } from '../support/keeper.js';
import { copyOfProduct } from '../support/program.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

interface Failure {
  /** What happens to the product. */
  readonly breaks?: (copy: string) => void;
  /** What is before the hook in its shell. */
  readonly prelude?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const program = (text: string) => (copy: string) => {
  writeFileSync(join(copy, 'bin', 'ctx'), text);
  chmodSync(join(copy, 'bin', 'ctx'), 0o755);
};
const bundle = (copy: string) => join(copy, 'dist', 'cli', 'hook.cjs');
const half = (path: string) => truncateSync(path, statSync(path).size >> 1);

const failures: Readonly<Record<string, Failure>> = {
  'ctx is gone': { breaks: (copy) => rmSync(join(copy, 'bin', 'ctx')) },
  'ctx may not be run': { breaks: (copy) => chmodSync(join(copy, 'bin', 'ctx'), 0o644) },
  'ctx is empty': { breaks: program('') },
  'Node is gone': { env: { PATH: '/usr/sbin:/sbin' } },
  'there is no memory for Node': { prelude: 'ulimit -v 60000;' },
  'its code is gone': { breaks: (copy) => rmSync(bundle(copy)) },
  'its code is empty': { breaks: (copy) => truncateSync(bundle(copy)) },
  'half of its code is gone': { breaks: (copy) => half(bundle(copy)) },
  'half of what that loads is gone': { breaks: (copy) => half(join(copy, 'dist', 'cli', 'hook.code.cjs')) },
  'it ends with an odd code': { breaks: program('#!/bin/sh\nexit 77\n') },
  'it ends and says nothing': { breaks: program('#!/bin/sh\nexit 0\n') },
  'it dies in the middle of its answer': {
    breaks: program('#!/bin/sh\nprintf \'{"hookSpecificOutput":{"permissionDec\'\nkill -9 $$\n'),
  },
  'it denies and dies in the middle': {
    breaks: program('#!/bin/sh\nprintf \'{"hookSpecificOutput":{"permissionDecision":"deny"\'\nexit 1\n'),
  },
  'it never answers': { breaks: program('#!/bin/sh\nexec sleep 600\n') },
};

forEitherUser((user) => {
  const stage = useStage(user);

  for (const [index, [what, failure]] of Object.entries(failures).entries()) {
    test(`no command runs outside where ${what}`, async () => {
      const { breaks, prelude = '', env = {} } = failure;
      const copy = copyOfProduct(join(stage.directory, `copy-${index}`));
      const ctx = join(copy, 'bin', 'ctx');
      const project = stage.project();
      const settings = join(project, '.claude', 'settings.json');
      const { stderr } = await stage.start(project, [ctx, 'hook', 'install', 'claude-code', '--approve']).finished;
      assert.ok(existsSync(settings), stderr);
      const [{ hooks }] = JSON.parse(readFileSync(settings, 'utf8')).hooks.PreToolUse;
      const installed: string = hooks[0].command;
      const escaped = join(stage.home, `escaped-${index}`);
      // A keeper has the code in memory: what is broken on the disk would not be run.
      const call = { project, command: `touch ${escaped}`, env: { ...env, ...keeperOff } };

      if (index === 0) {
        assert.ok(await letsThrough(stage, { ...call, hook: installed }), 'a whole hook answers');
        assert.ok(!existsSync(escaped), 'and what it lets through runs in the jail');
      }
      breaks?.(copy);
      const bare = `${prelude}'${ctx}' hook claude-code --approve`;
      assert.ok(await letsThrough(stage, { ...call, hook: bare, patienceSeconds: 3 }), 'the hook alone fails open');
      assert.ok(existsSync(escaped), 'and the command runs outside');
      rmSync(escaped);
      const patient = /(?<=timeout -s KILL )\d+/;
      assert.match(installed, patient);
      const hook = `${prelude}${installed.replace(patient, '5')}`;
      assert.equal(await letsThrough(stage, { ...call, hook }), false);
      assert.ok(!existsSync(escaped), what);
      rmSync(dirname(dirname(ctx)), { recursive: true });
    });
  }
});
