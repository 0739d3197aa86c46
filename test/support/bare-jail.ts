/** A jail by its plan alone, without `ctx` around it: for plans that `ctx` would never make. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { frame, request } from '../../src/jail/frame.js';
import { identityShift } from '../../src/jail/id-maps.js';
import type { JailIdentity } from '../../src/jail/jail-view.js';
import type { Operation, Plan } from '../../src/jail/operation.js';
import { commandPlan, type JailView, jailPlan, keptPlan, openPlan, type SharedPath } from '../../src/jail/plan.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { systemView } from '../../src/jail/system-view.js';
import { temporaryRoot } from './program.js';

const isRoot = process.getuid?.() === 0;
/** Never root, unless a suite asks for that: such plans may lack what keeps a command inside. */
const [uid, gid] = isRoot ? [64_733, 64_733] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];

/** For the process that is to be of the same user as the jail's command. */
export const bareUser = isRoot ? { uid, gid } : {};

export interface PlanOptions {
  readonly weakened: JailView['weakened'];
  readonly shared?: readonly SharedPath[];
  /** What else of the view is another. */
  readonly more?: Partial<JailView>;
}

/** How root's jails are made, where a suite is about them: with plans that are whole up to the command's identity. */
export const shiftedIdentity: JailIdentity = { kind: 'shifted', uid: 0, gid: 0, shift: identityShift };

/** What the jail program says of a command: its exit code, 128 and more for a signal, or why it has none. */
export type Ending = number | string;

/** A jail that is kept for many commands. */
export interface BareKeptJail {
  /** Of its owner. */
  readonly pid: number;
  /** Of a plan for a command, `commandPlan`. */
  run(plan: readonly Operation[]): Promise<Ending>;
  /** Asks for the end of the fork's mounts; the answer. */
  release(): Promise<string>;
  /** Asks anything; the first answer. */
  ask(kind: number, payload: Buffer): Promise<string>;
  /** Asks for other overlays in their place; the answer. */
  mount(overlays: readonly Operation[]): Promise<string>;
  end(): Promise<void>;
}

export interface BareJail {
  /** A directory of the test's own, of that user. */
  readonly base: string;
  /** The jail program, where that user reaches it. */
  readonly program: string;
  /** The version of Landlock here; 0 without it. */
  readonly landlock: number;
  /** An ordinary plan for this command, with these paths shown beside the system. */
  plan(argv: readonly string[], options: PlanOptions): Plan;
  /** The same in two parts: a jail that is kept, and a command in it. */
  keptPlans(argv: readonly string[], options: PlanOptions): { readonly jail: Plan; readonly command: Plan };
  /** The same, for a jail that may be asked for more commands, and one of these. */
  openPlans(argv: readonly string[], options: PlanOptions): { readonly jail: Plan; readonly command: Plan };
  /** Executes it, started by `wrapper` where there is one, with these streams, where they are not /dev/null. */
  run(plan: readonly Operation[], wrapper?: readonly string[], streams?: Streams): Promise<Ending>;
  /** The same, asked for these kinds of requests while the command runs, from number 1 on; all that it said. */
  runAsked(
    plan: readonly Operation[],
    asked: readonly (number | Asked)[],
    wrapper?: readonly string[],
  ): Promise<string>;
  /** Kept by a program that `wrapper` starts, where there is one. */
  keep(plan: readonly Operation[], wrapper?: readonly string[]): Promise<BareKeptJail>;
}

export interface Asked {
  readonly kind: number;
  readonly payload: Buffer;
}

/** Descriptors of stdin, stdout and stderr. */
export type Streams = readonly [number, number, number];

function endingOf(reports: string): Ending {
  const status = / exited (\d+) /.exec(reports)?.[1];
  if (status === undefined) return reports;
  const signal = Number(status) & 0x7f;
  return signal === 0 ? Number(status) >> 8 : 128 + signal;
}

interface Keeping {
  readonly argv: readonly string[];
  readonly plan: readonly Operation[];
  readonly user: typeof bareUser;
}

async function keepJail({ argv: [program = '', ...words], plan, user }: Keeping): Promise<BareKeptJail> {
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'ignore', 'ipc'] as const;
  const child = spawn(program, [...words, 'serve'], { stdio: [...stdio], env: {}, ...user });
  // What commands print is nobody's.
  child.on('message', (_message, handle) => (handle as Socket | undefined)?.resume());
  const [, , , input, output, lifeline] = child.stdio as unknown as readonly Duplex[];
  const waiting = new Map<number, (report: string) => void>();
  let text = '';
  output?.on('data', (chunk: Buffer) => {
    const reports = (text + chunk.toString('latin1')).split('\0');
    text = reports.pop() ?? '';
    for (const report of reports) waiting.get(Number.parseInt(report, 10))?.(report);
  });
  const closed = once(child, 'close');
  let asked = 0;
  const ask = (kind: number, payload: Buffer | undefined, isAnswer: (report: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      const id = kind === request.jail ? 0 : ++asked;
      void closed.then(() => reject(new Error(`the jail has ended: ${text}`)));
      waiting.set(id, (report) => isAnswer(report) && resolve(report));
      input?.write(frame(id, kind, payload));
    });
  const made = await ask(request.jail, planBytes(plan), (report) => / (started|failed)/.test(report));
  assert.match(made, /started/);
  return {
    pid: child.pid ?? 0,
    ask: (kind, payload) => ask(kind, payload, () => true),
    mount: (overlays) => ask(request.overlays, planBytes(overlays), () => true),
    run: async (command) =>
      endingOf(await ask(request.command, planBytes(command), (report) => / (exited|failed)/.test(report))),
    release: () => ask(request.release, undefined, () => true),
    async end() {
      lifeline?.destroy();
      await closed;
    },
  };
}

/** To be called at the top of a file: what it makes is gone after the tests. Root's jails are `shifted`. */
export function bareJail(kind: JailIdentity['kind'] = 'self'): BareJail {
  const isShifted = kind === 'shifted';
  const user = isShifted ? {} : bareUser;
  const [ownerUid, ownerGid] = isShifted ? [identityShift, identityShift] : [uid, gid];
  const base = mkdtempSync(join(temporaryRoot(), 'ctx-bare-'));
  after(() => {
    // What a jail left may have any mode; root needs no permission.
    if (!isRoot) spawnSync('chmod', ['-R', 'u+rwX', base]);
    rmSync(base, { recursive: true, force: true });
  });
  chmodSync(base, 0o755);
  const program = join(base, 'jail');
  copyFileSync(fileURLToPath(new URL('../../../native/jail', import.meta.url)), program);
  chmodSync(program, 0o755);
  for (const name of ['.', 'layer', 'upper', 'work', 'home', 'shown']) {
    mkdirSync(join(base, name), { recursive: true });
    if (isRoot) chownSync(join(base, name), ownerUid, ownerGid);
  }
  const viewOf = (argv: readonly string[], { weakened, shared: beside = [], more = {} }: PlanOptions): JailView => {
    const { shared, links } = systemView();
    return {
      weakened,
      architecture: process.arch === 'arm64' ? 'arm64' : 'x64',
      processes: 1024,
      identity: isShifted ? shiftedIdentity : { kind: 'self', uid, gid },
      person: { uid, gid, name: 'user', group: 'user', home: '/home/user' },
      hostName: 'ctx',
      base,
      overlays: [{ target: '/workspace', lower: ['layer'], upper: 'upper', work: 'work' }],
      shared: [...shared, { source: join(base, 'home'), target: '/home/user', access: 'read write' }, ...beside],
      links,
      hidden: [],
      directory: '/workspace',
      environment: { PATH: '/usr/bin:/bin' },
      argv,
      ...more,
    };
  };
  const probed = spawnSync(program, ['probe', base], { encoding: 'utf8' }).stdout;
  return {
    base,
    program,
    landlock: Number(/^landlock (\d+)$/m.exec(probed)?.[1] ?? 0),
    plan: (argv, options) => jailPlan(viewOf(argv, options)),
    keptPlans(argv, options) {
      const view = viewOf(argv, options);
      return { jail: keptPlan(view), command: commandPlan(view) };
    },
    openPlans(argv, options) {
      const view = viewOf(argv, options);
      return { jail: openPlan(view), command: commandPlan(view) };
    },
    keep: (plan, wrapper = []) => keepJail({ argv: [...wrapper, program], plan, user }),
    async runAsked(plan, asked, wrapper = []) {
      const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'pipe'] as const;
      const [first = '', ...words] = [...wrapper, program, 'beside'];
      const child = spawn(first, words, { stdio: [...stdio], env: {}, ...user });
      const [, , , input, output, requests] = child.stdio as unknown as readonly Duplex[];
      let reports = '';
      output?.on('data', (chunk: Buffer) => {
        reports += chunk.toString('latin1').replaceAll('\0', '\n');
      });
      input?.write(frame(0, request.jail, planBytes(plan)));
      for (const [index, one] of asked.entries()) {
        const { kind, payload } = typeof one === 'number' ? { kind: one, payload: Buffer.alloc(0) } : one;
        requests?.write(frame(index + 1, kind, payload));
      }
      await once(child, 'close');
      return reports;
    },
    async run(plan, wrapper = [], streams) {
      const [first = program, ...words] = [...wrapper, program];
      const stdio = [...(streams ?? (['ignore', 'ignore', 'ignore'] as const)), 'pipe', 'pipe', 'ignore'] as const;
      const child = spawn(first, words, { stdio: [...stdio], env: {}, ...user });
      const [, , , input, output] = child.stdio as unknown as readonly Duplex[];
      let reports = '';
      output?.on('data', (chunk: Buffer) => {
        reports += chunk.toString('latin1');
      });
      // One that ends early says why.
      input?.on('error', () => undefined);
      input?.write(frame(0, request.jail, planBytes(plan)));
      await once(child, 'close');
      assert.notEqual(reports, '');
      return endingOf(reports);
    },
  };
}
