/**
 * One run of questions as one user: `node main.js UID GID DIRECTORY PLACES SEED`, with HOME and CTX_DATA. A process of its own,
 * since a process has one identity. Each question is asked of `why`, of the hook, of `rules test`, and then tried.
 */
import assert from 'node:assert/strict';
import { chmodSync, lstatSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { judge, type OpenOptions, open, operate, type Workspace } from 'ctxfs';
import { contains } from '../../../src/authority/absolute-path.js';
import { hasSoakTime, randomFrom } from '../../support/random.js';
import { askAgents, makeTools } from './agents.js';
import { askCommand, chooseRules } from './commands.js';
import { type AskedPlace, makePlace, pick, type Random, workScript } from './place.js';
import { type ProbeQuestion, probeScript } from './probe.js';

const [uid = 0, gid = 0] = process.argv.slice(2, 4).map(Number);
const [base = '', places = '1', seed = '1'] = process.argv.slice(4);
if (process.getuid?.() !== uid) {
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

const isShort = places === '1';
const home = process.env['HOME'] ?? '';
const hosts = [
  'localhost:9',
  'a.localhost:9',
  'LOCALHOST:9',
  '127.0.0.1:9',
  '127.0.0.1:10',
  '[::1]:9',
  '[::ffff:127.0.0.1]:9',
  '10.0.0.1:443',
  '169.254.169.254:80',
  '0.0.0.0:9',
  'printer.lan:80',
  'not-granted.example.org:443',
];

interface Asked extends ProbeQuestion {
  readonly allowed: boolean;
  readonly code: string;
  readonly path: string;
  /** What `why` says that the hook would. */
  readonly hook?: boolean;
}

interface Setting {
  readonly place: AskedPlace;
  readonly options: OpenOptions;
}

/** Places that the path leads through, as the host has them: links themselves, too. */
function wayOf(path: string, project: string): readonly string[] {
  const visited: string[] = [];
  const pending = (path.startsWith('/') ? path : join(project, path)).split('/').filter((part) => part !== '');
  let at = '/';
  for (let links = 0; pending.length > 0 && links < 41; ) {
    const part = pending.shift() ?? '';
    const next = part === '..' ? dirname(at) : join(at, part);
    visited.push(next);
    const about = lstatSync(next, { throwIfNoEntry: false });
    if (about?.isSymbolicLink() !== true) {
      at = next;
      continue;
    }
    links += 1;
    const text = readlinkSync(next);
    if (text.startsWith('/')) at = '/';
    pending.unshift(...text.split('/').filter((each) => each !== '' && each !== '.'));
  }
  return visited;
}

/** The rows of docs/agreement.md, by their names. None lets more of the host be read or written. */
export const allowedDifference: Readonly<Record<string, (asked: Asked, got: string, setting: Setting) => boolean>> = {
  'an unseen way': ({ access, what, allowed }, got, { place, options }) =>
    access !== 'connect' &&
    allowed &&
    // The kernel makes no file by a name that ends as a directory's does, and says so before it looks what is there.
    ['ENOENT', 'EACCES', ...(what.endsWith('/') ? ['EISDIR'] : [])].includes(got) &&
    wayOf(what, place.project).some(
      (at) =>
        !contains(place.project, at) &&
        !contains(at, place.project) &&
        ![...(options.reads ?? []), ...(options.writes ?? [])].some((each) => contains(each, at) || contains(at, each)),
    ),
  'a way to a grant': ({ access, path, allowed }, got, { place, options }) =>
    access === 'read' &&
    !allowed &&
    got === 'allowed' &&
    // Every jail has an empty /run.
    ['/run', place.project, home, ...(options.reads ?? []), ...(options.writes ?? [])].some((each) =>
      contains(path, each),
    ),
  // By its name, too: a link of the host's that the jail does not have leads nowhere there.
  'a private place': ({ access, path, what, allowed }, got) =>
    access !== 'connect' &&
    !allowed &&
    got === 'allowed' &&
    [path, what].some((each) => [home, '/tmp', '/var/tmp'].some((at) => contains(at, each))),
  'mode bits': ({ access, allowed, path }, got, { place }) =>
    uid === 0 && access === 'write' && allowed && got === 'EACCES' && !contains(place.project, path),
};

function grantsOf(random: Random, { beside, paths }: AskedPlace): OpenOptions {
  const outside = [beside, ...paths.filter((path) => path.startsWith(beside))].filter(
    (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true,
  );
  const some = (share: number) => (random() < share ? [pick(random, outside)] : []);
  const granted = Array.from({ length: Math.floor(random() * 4) }, () => pick(random, hosts.slice(0, 6)));
  const [network, privateHosts] = [granted.slice(0, 2), granted.slice(2)];
  return {
    reads: some(0.6),
    writes: some(0.4).filter((path) => lstatSync(path).isDirectory()),
    readonly: random() < 0.2,
    network: random() < 0.15 ? ['any'] : network,
    privateHosts,
  };
}

function questionsOf(random: Random, { paths, project }: AskedPlace, count: number): ProbeQuestion[] {
  const spelled = (path: string) =>
    pick(random, [path, path, `${path}/`, `${path}/..`, `${dirname(path)}//${path.slice(dirname(path).length + 1)}`]);
  const missing = (path: string) => pick(random, [join(path, 'none'), `${path}-none`, join(path, 'none', 'x')]);
  const obeyed = ['.git/config', '.claude/settings.json', '.mcp.json', 'HEAD'].map((name) => join(project, name));
  const system = [
    ...obeyed,
    '/usr/bin/env',
    '/etc/shadow',
    '/usr/bin/none',
    '/root/.ssh',
    '/tmp/none',
    project,
    '/',
    '/usr',
  ];
  return Array.from({ length: count }, (): ProbeQuestion => {
    const path = pick(random, paths);
    const what = random() < 0.7 ? spelled(path) : random() < 0.7 ? missing(path) : pick(random, system);
    const relative = random() < 0.2 && what.startsWith(`${project}/`) ? what.slice(project.length + 1) : what;
    return { access: pick(random, ['read', 'read', 'write', 'write', 'exec'] as const), what: relative };
  });
}

async function askWhy(workspace: Workspace, question: ProbeQuestion): Promise<Asked> {
  const { access, what } = question;
  try {
    if (access === 'connect') {
      const { verdict, hostPort } = await workspace.whyHost(what);
      return { ...question, allowed: verdict.allowed, code: verdict.allowed ? '' : verdict.code, path: hostPort };
    }
    const { verdict, path, layers } = await workspace.whyPath(access, what);
    const hook = layers.some(({ layer, verdict: said }) => layer === 'hook' && said === 'allow');
    return { ...question, allowed: verdict.allowed, code: verdict.allowed ? '' : verdict.code, path, hook };
  } catch (error) {
    const code = (error as { code?: string }).code;
    assert.equal(code, 'ELOOP', `${JSON.stringify(question)}: ${error}`);
    return { ...question, allowed: false, code: 'ELOOP', path: what };
  }
}

/** The hook says what `why` says that it would, and lets through nothing that `why` calls outside of what is granted. */
async function askHook(
  { access, what, allowed, code, hook = false }: Asked,
  { place, options }: Setting,
): Promise<void> {
  if (access === 'exec') return;
  const { reads = [], writes = [], network = [], privateHosts = [] } = options;
  const task = { directory: place.project, reads, writes, network: [...network, ...privateHosts] };
  const call =
    access === 'connect'
      ? ({ tool: 'fetch', url: `http://${what}/` } as const)
      : ({ tool: access, paths: [what] } as const);
  const { decision, reason } = await judge(call, task);
  // Where the fork's links lead in a circle, why says that and nothing of the hook.
  if (access !== 'connect' && code !== 'ELOOP')
    assert.equal(decision === 'allow', hook, `${access} ${what}: the hook says ${reason}`);
  // The hook reads the person's own directory; a link or a directory that only the fork has leads elsewhere.
  if (decision === 'allow' && !allowed && code === 'EACCES' && access === 'connect') {
    assert.match(what, /127\.|::1|localhost/i, `the hook allows ${what}, why does not`);
  }
  if (decision === 'deny' && allowed && access === 'connect') assert.fail(`the hook denies ${what}: ${reason}`);
}

let asked = 0;
const used = new Set<string>();

async function askPlace(random: Random, index: number): Promise<void> {
  const place = makePlace(random, join(base, `place-${index}`));
  const options = grantsOf(random, place);
  const setting = { place, options };
  const workspace = await open({ directory: place.project, ...options });
  try {
    if (options.readonly !== true) await workspace.exec({ shell: workScript(random) });
    else await workspace.exec(['true']);
    const questions = [
      ...questionsOf(random, place, isShort ? 60 : 90),
      ...Array.from({ length: 12 }, () => ({ access: 'connect', what: pick(random, hosts) }) as const),
    ];
    const said = [];
    for (const question of questions) said.push(await askWhy(workspace, question));
    for (const each of said) await askHook(each, setting);
    const argv = [process.execPath, '-e', probeScript, JSON.stringify(questions)];
    const { stdout, stderr, exitCode } = await workspace.exec(argv);
    assert.equal(exitCode, 0, `${stdout?.text}${stderr?.text}`);
    const got = JSON.parse(stdout?.text ?? '') as readonly string[];
    for (const [at, each] of said.entries()) {
      asked += 1;
      const result = got[at] ?? '';
      const happened = result === 'allowed';
      if (happened === each.allowed) continue;
      const row = Object.entries(allowedDifference).find(([, allows]) => allows(each, result, setting))?.[0];
      const shown = `${JSON.stringify(each)} got ${result} in ${place.project} with ${JSON.stringify(options)}`;
      assert.ok(row !== undefined, shown);
      used.add(row);
    }
  } finally {
    await workspace.close();
    chmodSync(place.project, 0o755);
  }
}

async function askCommands(random: Random, index: number): Promise<void> {
  const operator = await operate();
  const project = makePlace(random, join(base, `commands-${index}`)).project;
  const agents = ['parent', 'child', 'other'];
  const askers = [undefined, ...agents];
  for (const agent of isShort ? askers.slice(1, 2) : askers) {
    const workspace = await open({ directory: project, agent });
    try {
      for (let round = 0; round < 3; round++) {
        await chooseRules(random, operator, agents);
        for (let each = 0; each < 5; each++) {
          asked += 1;
          const { shown, said, happened } = await askCommand(random, operator, workspace, agent);
          assert.equal(happened, said, `${shown} with ${JSON.stringify(operator.rules.list())}`);
        }
      }
    } finally {
      await workspace.close();
    }
  }
  for (const { id } of operator.rules.list()) operator.rules.remove(id);
}

const operator = await operate();
const network = ['allow parent_t network:default connect', 'allow parent_t agent:child create'].join('\n');
await operator.agents.make('parent');
await operator.agents.set('parent', 'policy', `${network}\n`);
await operator.agents.make('child', { parent: 'parent' });
await operator.agents.make('other');
await makeTools(operator);
for (let index = 0; index < Number(places) && hasSoakTime(); index++) {
  const random = randomFrom((Number(seed) + index) >>> 0);
  try {
    await askPlace(random, index);
    await askCommands(random, index);
    asked += await askAgents(random, operator, join(base, `agents-${index}`), index);
  } catch (error) {
    console.error(`seed ${Number(seed) + index}, place ${index}`);
    throw error;
  }
}
console.log(JSON.stringify({ asked, used: [...used] }));
