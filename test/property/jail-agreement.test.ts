/**
 * The jail and the hook agree with the surface: for random trees and grants, what `accessTo` says of a path is what a
 * command in the jail can really do with it, and what the hook answers. The differences that there are by construction
 * are in `allowedDifference`, and in docs/agreement.md by the same names.
 */
import assert from 'node:assert/strict';
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { contains } from '../../src/authority/absolute-path.js';
import { type Access, accessTo, makeSurface, type Surface, surfaceEntries } from '../../src/authority/surface.js';
import { decideCall, type HookRules } from '../../src/hook/decide-call.js';
import { surfaceGrants } from '../../src/hook/grants.js';
import { HostResolver } from '../../src/hook/resolve-path.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { buildWorld, spelled, type World, type WorldPlan, worldPlan } from './random-world.js';
import { seeded } from './seeded.js';

/** One path, tried for reading and then for writing, as a command in the jail finds it. */
interface Probed {
  /** Text of a file or names in a directory; else the errno. */
  readonly read: { readonly text: string } | { readonly names: readonly string[] } | string;
  readonly write: 'written' | string;
}

/** First everything is read and then everything written, so that no mark is read. */
const script = `
const fs = require('node:fs');
const paths = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const attempt = (act) => { try { return act(); } catch (error) { return error.code; } };
const reads = paths.map((path) => attempt(() =>
  fs.statSync(path).isDirectory() ? { names: fs.readdirSync(path) } : { text: fs.readFileSync(path, 'utf8') }));
const writes = paths.map((path, index) => attempt(() => {
  if (fs.statSync(path).isDirectory()) fs.mkdirSync(path + '/made-' + index);
  else fs.appendFileSync(path, '+' + index + '.');
  return 'written';
}));
console.log(JSON.stringify(paths.map((_, index) => ({ read: reads[index], write: writes[index] }))));
`;

interface Walk {
  /** Where it leads on the host, links resolved; undefined where the host has nothing there. */
  readonly real: string | undefined;
  /** Every place on the way, links themselves too. */
  readonly visited: readonly string[];
}

/** Undefined where this user may not look. */
function whereSeen<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    throw error;
  }
}

/** As the kernel walks, written apart from the code that is tested. */
function walk(path: string, cwd: string): Walk {
  const visited: string[] = [];
  const pending = path.split('/').filter((part) => part !== '' && part !== '.');
  let at = path.startsWith('/') ? '/' : cwd;
  for (let links = 0; pending.length > 0; ) {
    const part = pending.shift() ?? '';
    const next = part === '..' ? dirname(at) : join(at, part);
    visited.push(next);
    const about = whereSeen(() => lstatSync(next, { throwIfNoEntry: false }));
    if (about === undefined) return { real: undefined, visited };
    if (!about.isSymbolicLink()) {
      if (!about.isDirectory() && (pending.length > 0 || path.endsWith('/'))) return { real: undefined, visited };
      at = next;
      continue;
    }
    links += 1;
    if (links > 40) return { real: undefined, visited };
    const text = readlinkSync(next);
    if (text.startsWith('/')) at = '/';
    pending.unshift(...text.split('/').filter((each) => each !== '' && each !== '.'));
  }
  assert.equal(realpathSync.native(at), at);
  return { real: at, visited };
}

interface Case {
  readonly path: string;
  readonly surface: Surface;
  readonly access: Access;
  readonly walk: Walk;
  readonly probed: Probed;
  readonly stage: Stage;
  /** Links that the grants were named by: they are made again, with the directories above them. */
  readonly links: readonly string[];
}

function leadsToEntry(surface: Surface, path: string): boolean {
  return surfaceEntries(surface).some((entry) => contains(path, entry.path));
}

function isPrivate(stage: Stage, path: string): boolean {
  return ['/tmp', stage.home].some((place) => contains(place, path));
}

/** Where the jail differs from the surface on purpose, and never so that more of the host is read or written. */
const allowedDifference: Readonly<Record<string, (tried: Case, kind: 'read' | 'write') => boolean>> = {
  /** The name leads through a directory or a link that the view does not have. */
  'an unseen way': ({ surface, access, walk: { visited }, probed }, kind) =>
    access !== 'none' &&
    probed[kind] === 'ENOENT' &&
    visited.some((place) => accessTo(surface, place) === 'none' && !(leadsToEntry(surface, place) && isPlain(place))),
  /** Directories above a grant, a link to one or the private home exist, and show only what leads there. */
  'a way to a grant': ({ surface, access, walk: { real }, probed: { read }, stage, links }, kind) =>
    kind === 'read' &&
    access === 'none' &&
    real !== undefined &&
    typeof read === 'object' &&
    'names' in read &&
    read.names
      .map((name) => join(real, name))
      .every((below) => leadsToEntry(surface, below) || [stage.home, ...links].some((at) => contains(below, at))),
  /** Hidden directories are empty ones. */
  'an empty hidden directory': ({ surface, access, walk: { real }, probed: { read } }, kind) =>
    kind === 'read' &&
    access === 'none' &&
    real !== undefined &&
    surface.hidden.includes(real) &&
    typeof read === 'object' &&
    'names' in read &&
    read.names.length === 0,
  /** What is granted is still not everybody's: as root too, since root's commands are nobody outside. */
  'mode bits': ({ access, walk: { real }, probed }, kind) =>
    access !== 'none' && real !== undefined && probed[kind] === 'EACCES' && (statSync(real).mode & 0o006) !== 0o006,
  /** The private /tmp and home can be written; the host's are not touched, as is checked afterwards. */
  'a private place': ({ access, walk: { real }, probed, stage }, kind) =>
    kind === 'write' && access === 'none' && real !== undefined && isPrivate(stage, real) && probed.write === 'written',
};

function isPlain(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

const refusals = ['ENOENT', 'EACCES', 'EROFS', 'ENOTDIR', 'ELOOP', 'EPERM', 'ENAMETOOLONG'];

function agrees({ access, walk: { real }, probed }: Case, kind: 'read' | 'write'): boolean {
  const result = probed[kind];
  const refused = typeof result === 'string' && refusals.includes(result);
  if (real === undefined || access === 'none') return refused;
  if (kind === 'write') return access === 'write' ? result === 'written' : result === 'EROFS' || result === 'EACCES';
  if (typeof result !== 'object') return false;
  return 'names' in result ? isPlain(real) : result.text === real;
}

async function prepare(stage: Stage, world: World, plan: WorldPlan) {
  const words: string[] = plan.around ? ['--read', stage.directory] : [];
  const links: string[] = [];
  for (const { access, to, spelling } of plan.grants) {
    const candidates = [...world.paths, '/usr/share'];
    const path = candidates[to % candidates.length] ?? world.root;
    const real = walk(path, world.project).real;
    // The fork is writable already, and writing inside a read-only part of it is refused as not supported.
    if (access === 'write' && real !== undefined && (contains(world.project, real) || !contains(world.root, real)))
      continue;
    const named = spelled(path, spelling, world.project);
    words.push(`--${access}`, named);
    links.push(...walk(named, world.project).visited.filter((place) => !isPlain(place)));
  }
  const { code, stdout, stderr } = await stage.ctx(world.project, ['surface', '--json', ...words]);
  if (code !== 0) return { words, links, surface: undefined, refusal: `${stdout}${stderr}` };
  const { authority } = parseJson(stdout, stderr) as { authority: { surface: Surface } };
  return { words, links, surface: makeSurface(authority.surface), refusal: '' };
}

function probesOf(stage: Stage, world: World, plan: WorldPlan): readonly string[] {
  const spelling = (index: number) => plan.spellings[index % plan.spellings.length] ?? 0;
  return [
    ...world.paths,
    ...world.paths.map((path, index) => spelled(path, spelling(index), world.project)),
    ...world.paths.map((path) => `${path}/missing`),
    join(stage.home, 'secret'),
    join(stage.store, 'meta.json'),
    join(stage.store, 'ctx'),
    stage.store,
    stage.directory,
    '/etc/shadow',
    '/etc/passwd-',
    '/root/.ssh',
    '/usr/share/doc',
  ].filter((path) => Buffer.byteLength(path) < 4000);
}

/** What the host has of a probe's mark. What this user may not read they cannot have marked. */
function isMarked(path: string, index: number): boolean {
  if (isPlain(path)) return existsSync(join(path, `made-${index}`));
  return whereSeen(() => readFileSync(path, 'latin1'))?.includes(`+${index}.`) === true;
}

function show(value: Case, kind: 'read' | 'write'): string {
  const { path, access, walk: walked, probed } = value;
  return JSON.stringify({ path, kind, access, real: walked.real, result: probed[kind] });
}

function hookRules(surface: Surface): HookRules {
  return {
    grants: surfaceGrants(surface, { network: { kind: 'none' }, toolFault: () => 'no' }),
    resolve: new HostResolver().resolve,
    commands: 'deny',
    form: { program: 'ctx', options: [], shell: 'sh' },
  };
}

/** As every reading of it: what a harness could take for another path is denied by the hook and no difference. */
function isUnmistakable(path: string): boolean {
  return path === path.normalize('NFC') && path === path.trim() && !/[~*?[{]/.test(path);
}

/**
 * The hook never lets through what the surface, and so the jail, would refuse; and it lets through what they allow wherever
 * the path has one reading only.
 */
async function assertHookAgrees(rules: HookRules, tried: Case, kind: 'read' | 'write', cwd: string): Promise<void> {
  const {
    path,
    access,
    walk: { real },
  } = tried;
  const uses = [{ path, access: kind, tree: false }];
  const verdict = await decideCall(rules, { tool: 'test', cwd, action: { kind: 'paths', uses } });
  const granted = access === 'write' || (kind === 'read' && access === 'read');
  const allowed = verdict.decision !== 'deny';
  if (real === undefined) return;
  if (allowed) assert.ok(granted, `the hook allows ${show(tried, kind)}`);
  else if (path === real && isUnmistakable(path)) assert.ok(!granted, `the hook denies ${show(tried, kind)}`);
}

let worlds = 0;

forEachUser(
  (user) => {
    const stage = useWarmStage(user);

    test('what the surface grants is what a command in the jail can do', { timeout: 600_000 }, async () => {
      stage.shell(stage.home, 'printf %s "$PWD/secret" > secret');
      let compared = 0;
      const used = new Set<string>();
      await fc.assert(
        fc.asyncProperty(worldPlan, async (plan) => {
          worlds += 1;
          const world = buildWorld(join(stage.directory, `world-${worlds}`), plan, user);
          writeFileSync(join(world.project, 'probe.cjs'), script, { mode: 0o644 });
          const { words, links, surface, refusal } = await prepare(stage, world, plan);
          // A grant through a link that leads to itself.
          if (surface === undefined) return assert.match(refusal, /ELOOP/);
          const probes = probesOf(stage, world, plan);
          const walks = probes.map((path) => walk(path, world.project));
          const list = join(world.project, 'probes.json');
          writeFileSync(list, JSON.stringify(probes), { mode: 0o644 });
          const argv = ['exec', '--json', '--wait', ...words, '--', 'node', 'probe.cjs', list];
          const { stdout, stderr } = await stage.ctx(world.project, argv);
          // What docs/agreement.md names as refused: nothing ran, so nothing can disagree.
          if (/"code":"ENOTSUP".*not supported yet/.test(stdout)) return;
          const envelope = parseJson(stdout, stderr) as { exitCode: number; roots: string[]; stdout: { text: string } };
          assert.equal(envelope.exitCode, 0, `${words}: ${stdout}${stderr}`);
          const forked = [world.project, ...envelope.roots];
          const hook = hookRules(surface);
          const results = JSON.parse(envelope.stdout.text) as readonly Probed[];
          for (const [index, path] of probes.entries()) {
            const walked: Walk = walks[index] ?? assert.fail();
            const probed: Probed = results[index] ?? assert.fail();
            const access: Access = walked.real === undefined ? 'none' : accessTo(surface, walked.real);
            const tried: Case = { path, surface, access, walk: walked, probed, stage, links };
            for (const kind of ['read', 'write'] as const) {
              compared += 1;
              await assertHookAgrees(hook, tried, kind, world.project);
              if (agrees(tried, kind)) continue;
              const row = Object.entries(allowedDifference).find(([, allows]) => allows(tried, kind))?.[0];
              assert.ok(row !== undefined, `${show(tried, kind)} with ${words.join(' ')}`);
              used.add(row);
            }
            if (walked.real === undefined || !existsSync(walked.real)) continue;
            const isLive: boolean =
              access === 'write' &&
              probed.write === 'written' &&
              !forked.some((root) => contains(root, walked.real ?? '/'));
            assert.equal(isMarked(walked.real, index), isLive, `on the host: ${show(tried, 'write')}`);
          }
        }),
        { ...seeded(8), endOnFailure: true },
      );
      assert.ok(compared > 500, String(compared));
      const unknown = [...used].filter((row) => !(row in allowedDifference));
      assert.deepEqual(unknown, []);
    });
  },
  { concurrency: 1 },
);

test('every difference is in docs/agreement.md', () => {
  const file = new URL('../../../../docs/agreement.md', import.meta.url);
  const text = readFileSync(file, 'utf8');
  for (const row of Object.keys(allowedDifference)) assert.ok(text.includes(`**${row}**`), row);
});
