/** Agents to ask about: mounts of every mode, tools with policies of their own, and uses that run out. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judge, type Operator, open, type Workspace } from 'ctxfs';
import { pick, type Random } from './place.js';
import { type ProbeQuestion, probeScript } from './probe.js';

const modes = [0o755, 0o777, 0o700, 0o555, 0o755];
const tools = ['fs.read', 'deploy', 'mcp.a.b'] as const;

const typeOf = (agent: string) => `${agent.replace('-', '_')}_t`;

interface Mounted {
  readonly target: string;
  readonly line: string;
  /** Of what is in a tree nothing is known before it is served: it is asked whether something can be made there. */
  readonly isTree: boolean;
}

/** Some are another user's, where we are root. */
function giveAway(random: Random, path: string): void {
  if (process.getuid?.() === 0 && random() < 0.3) chownSync(path, 1000, 1000);
}

function fillSource(random: Random, source: string): void {
  for (const name of ['open', 'run', 'closed']) {
    writeFileSync(join(source, name), '#!/bin/sh\nexit 0\n');
    chmodSync(join(source, name), pick(random, [0o644, 0o666, 0o755, 0o777, 0o600]));
    giveAway(random, join(source, name));
  }
}

/** A directory of the host at its own path or another one, the workspace at another one, or a tree. */
function makeMount(random: Random, root: string, index: number): Mounted {
  const kind = random();
  const mode = pick(random, ['ro', 'rw']);
  const target = `/mounted/${index}`;
  if (kind < 0.2) return { target, line: `memory:\t${target}\t${mode}\t-\n`, isTree: true };
  if (kind < 0.4) return { target, line: `${join(root, 'project')}\t${target}\t${mode}\trbind\n`, isTree: false };
  const source = join(root, `mounted-${index}`);
  mkdirSync(source);
  fillSource(random, source);
  chmodSync(source, pick(random, modes));
  const shown = kind < 0.7 ? source : target;
  return { target: shown, line: `${source}\t${shown}\t${mode}\trbind\n`, isTree: false };
}

async function askMounts(random: Random, workspace: Workspace, mounts: readonly Mounted[]): Promise<number> {
  const names = ['open', 'run', 'closed', 'none', '.'];
  const questions = Array.from({ length: 14 }, (): ProbeQuestion => {
    const { target, isTree } = pick(random, mounts);
    if (isTree) return { access: 'write', what: join(target, pick(random, ['none', '.'])) };
    const what = join(target, pick(random, names));
    return { access: pick(random, ['read', 'write', 'write', 'exec'] as const), what };
  });
  const said = [];
  for (const { access, what } of questions) {
    assert.ok(access !== 'connect');
    said.push((await workspace.whyPath(access, what)).verdict);
  }
  const { stdout } = await workspace.exec([process.execPath, '-e', probeScript, JSON.stringify(questions)]);
  const got = JSON.parse(stdout?.text ?? '') as readonly string[];
  for (const [index, verdict] of said.entries()) {
    const shown = `${JSON.stringify(questions[index])} said ${JSON.stringify(verdict)}, got ${got[index]}`;
    assert.equal(got[index] === 'allowed', verdict.allowed, `${shown} with ${mounts.map(({ line }) => line).join('')}`);
  }
  return questions.length;
}

/** `why` and the hook, of tools that there are. */
async function askTools(random: Random, operator: Operator, workspace: Workspace, agent: string): Promise<number> {
  for (const name of tools) {
    const own = random() < 0.5 ? `allow ${typeOf(agent)} tool:${name} execute\n` : '';
    await operator.tools.set(name, 'policy', own);
  }
  const granted = tools.filter(() => random() < 0.6).map((name) => `allow ${typeOf(agent)} tool:${name} execute\n`);
  await operator.agents.set(agent, 'policy', granted.join(''));
  for (const name of tools) {
    const { verdict } = await workspace.whyObject({ class: 'tool', name, permission: 'execute' });
    const { decision, reason } = await judge({ tool: 'other', name }, { directory: workspace.directory, agent });
    assert.equal(decision === 'allow', verdict.allowed, `${name}: why ${JSON.stringify(verdict)}, hook ${reason}`);
  }
  return tools.length;
}

/** What is left is used; from then on everything is refused, and nothing before. */
async function askUses(random: Random, operator: Operator, workspace: Workspace, agent: string): Promise<number> {
  const uses = 1 + Math.floor(random() * 2);
  await operator.agents.set(agent, 'expiry', `uses ${uses}\n`);
  for (let used = 0; used <= uses; used++) {
    const isLeft = used < uses;
    const { verdict, layers } = await workspace.whyPath('read', '.');
    const task = { directory: workspace.directory, agent };
    const { decision, reason } = await judge({ tool: 'read', paths: ['.'] }, task);
    const hook = layers.find(({ layer }) => layer === 'hook')?.verdict;
    const ran = await workspace.exec(['true']).then(
      () => true,
      (error: unknown) => {
        assert.match(String(error), /used as often/);
        return false;
      },
    );
    const said = [verdict.allowed, hook === 'allow', decision === 'allow', ran];
    assert.deepEqual(said, [isLeft, isLeft, isLeft, isLeft], `use ${used} of ${uses}: ${reason}`);
  }
  await operator.agents.set(agent, 'expiry', '');
  return uses + 1;
}

export async function makeTools(operator: Operator): Promise<void> {
  for (const name of tools) await operator.tools.make(name);
}

/** How many questions were asked. */
export async function askAgents(random: Random, operator: Operator, root: string, index: number): Promise<number> {
  const agent = `asked-${index}`;
  mkdirSync(join(root, 'project'), { recursive: true });
  fillSource(random, join(root, 'project'));
  const mounts = Array.from({ length: 3 }, (_, each) => makeMount(random, root, each));
  await operator.agents.make(agent, { spec: { label: typeOf(agent) } });
  await operator.agents.set(agent, 'mount', mounts.map(({ line }) => line).join(''));
  const workspace = await open({ directory: join(root, 'project'), agent });
  try {
    const asked = await askMounts(random, workspace, mounts);
    return (
      asked + (await askTools(random, operator, workspace, agent)) + (await askUses(random, operator, workspace, agent))
    );
  } finally {
    await workspace.close();
  }
}
