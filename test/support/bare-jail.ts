/** A jail by its plan alone, without `ctx` around it: for plans that `ctx` would never make. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { frame, request } from '../../src/jail/frame.js';
import type { Operation, Plan } from '../../src/jail/operation.js';
import { type JailView, jailPlan, type SharedPath } from '../../src/jail/plan.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { systemView } from '../../src/jail/system-view.js';
import { temporaryRoot } from './program.js';

const isRoot = process.getuid?.() === 0;
/** Never root: such plans may lack what keeps a command inside. */
const [uid, gid] = isRoot ? [64_733, 64_733] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];

/** For the process that is to be of the same user as the jail's command. */
export const bareUser = isRoot ? { uid, gid } : {};

export interface BareJail {
  /** A directory of the test's own, of that user. */
  readonly base: string;
  /** The version of Landlock here; 0 without it. */
  readonly landlock: number;
  /** An ordinary plan for this command, with these paths shown beside the system. */
  plan(
    argv: readonly string[],
    options: { readonly weakened: JailView['weakened']; readonly shared?: readonly SharedPath[] },
  ): Plan;
  /** Executes it, started by `wrapper` where there is one. The command's exit code, or what the jail said why there is none. */
  run(plan: readonly Operation[], wrapper?: readonly string[]): Promise<number | string>;
}

/** To be called at the top of a file: what it makes is gone after the tests. */
export function bareJail(): BareJail {
  const base = mkdtempSync(join(temporaryRoot(), 'ctx-bare-'));
  after(() => rmSync(base, { recursive: true, force: true }));
  chmodSync(base, 0o755);
  const program = join(base, 'jail');
  copyFileSync(fileURLToPath(new URL('../../../native/jail', import.meta.url)), program);
  chmodSync(program, 0o755);
  for (const name of ['.', 'layer', 'upper', 'work', 'home', 'shown']) {
    mkdirSync(join(base, name), { recursive: true });
    if (isRoot) chownSync(join(base, name), uid, gid);
  }
  const probed = spawnSync(program, ['probe', base], { encoding: 'utf8' }).stdout;
  return {
    base,
    landlock: Number(/^landlock (\d+)$/m.exec(probed)?.[1] ?? 0),
    plan(argv, { weakened, shared: more = [] }) {
      const { shared, links } = systemView();
      return jailPlan({
        weakened,
        architecture: process.arch === 'arm64' ? 'arm64' : 'x64',
        processes: 1024,
        identity: { kind: 'self', uid, gid },
        person: { uid, gid, name: 'user', group: 'user', home: '/home/user' },
        hostName: 'ctx',
        base,
        overlays: [{ target: '/workspace', lower: ['layer'], upper: 'upper', work: 'work' }],
        shared: [...shared, { source: join(base, 'home'), target: '/home/user', access: 'read write' }, ...more],
        links,
        hidden: [],
        directory: '/workspace',
        environment: { PATH: '/usr/bin:/bin' },
        argv,
      });
    },
    async run(plan, wrapper = []) {
      const [first = program, ...words] = [...wrapper, program];
      const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'ignore'] as const;
      const child = spawn(first, words, { stdio: [...stdio], env: {}, ...bareUser });
      const [, , , input, output] = child.stdio as unknown as readonly Duplex[];
      let reports = '';
      output?.on('data', (chunk: Buffer) => {
        reports += chunk.toString('latin1');
      });
      input?.write(frame(0, request.jail, planBytes(plan)));
      await once(child, 'close');
      assert.notEqual(reports, '');
      const status = / exited (\d+) /.exec(reports)?.[1];
      return status === undefined ? reports : Number(status) >> 8;
    },
  };
}
