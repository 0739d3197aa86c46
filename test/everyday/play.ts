/**
 * One flow, played: inside on the project, with everything that can be done to its fork; then outside, on a copy of the same tree at the
 * same place. What differs is data.
 */
import { rmSync } from 'node:fs';
import type { Stage } from '../support/stage.js';
import type { Aspect, Difference, Flow } from './flow.js';
import { readTree, type Tree, timeDifference, treeDifference } from './tree.js';

interface Played {
  readonly exit: string;
  readonly output: string;
  readonly errors: string;
}

const seconds = 300;

function commands({ run }: Flow): readonly string[] {
  return typeof run === 'string' ? [run] : run;
}

function joined(all: readonly Played[]): Played {
  const of = (part: keyof Played) => all.map((each) => each[part]).join('\n');
  return { exit: of('exit'), output: of('output'), errors: of('errors') };
}

async function playedInside(stage: Stage, project: string, flow: Flow): Promise<Played> {
  const all: Played[] = [];
  const environment = Object.entries(flow.environment ?? {}).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  for (const text of commands(flow)) {
    const words = ['exec', '--json', '--wait', ...environment, ...(flow.options ?? []), '--', 'sh', '-c', text];
    const { code, stdout, stderr } = await stage.ctx(project, words, { timeoutSeconds: flow.seconds ?? seconds });
    const envelope = stdout.startsWith('{') ? JSON.parse(stdout) : undefined;
    if (envelope?.stdout === undefined) all.push({ exit: `ctx ${code}`, output: stdout, errors: stderr });
    else {
      const { exitCode, signal, stdout: output, stderr: errors } = envelope;
      all.push({ exit: String(signal ?? exitCode), output: output?.text ?? '', errors: errors?.text ?? '' });
    }
  }
  return joined(all);
}

async function playedOutside(stage: Stage, project: string, flow: Flow): Promise<Played> {
  const all: Played[] = [];
  for (const text of commands(flow)) {
    const options = { timeoutSeconds: flow.seconds ?? seconds, env: { ...flow.environment } };
    const { code, signal, stdout, stderr } = await stage.start(project, ['sh', '-c', text], options).finished;
    all.push({ exit: String(signal ?? code), output: stdout, errors: stderr });
  }
  return joined(all);
}

/** What git has once stored stays after an undo, reached by nothing, until git collects it. */
function withoutObjects(tree: Tree): Tree {
  return new Map([...tree].filter(([path]) => !/(?:^|\/)\.git\/objects(?:\/|$)/.test(path)));
}

/** `thorough`: rollback, a second time and drop, too. */
export async function play(stage: Stage, flow: Flow, thorough: boolean): Promise<readonly Difference[]> {
  const exports = Object.entries(flow.environment ?? {}).map(([name, value]) => `export ${name}="${value}"; `);
  const project = stage.project(`${exports.join('')}${flow.before ?? ':'}`);
  const start = `${project}-start`;
  stage.shell('/', `cp -a '${project}' '${start}'`);
  const selection = { volatile: flow.volatile, leftOut: flow.leftOut };
  const differences: Difference[] = [];
  const tidy = (text: string) => (flow.tidy === undefined ? text : flow.tidy(text)).trimEnd();
  const note = (aspect: Aspect, text: string | undefined) => {
    if (text !== undefined) differences.push({ aspect, text });
  };
  const compare = (expected: Played, found: Played, as: Aspect | undefined) => {
    for (const part of ['exit', 'output', 'errors'] as const) {
      const [a, b] = [tidy(expected[part]), tidy(found[part])];
      if (a !== b)
        note(as ?? part, `${part}: ${JSON.stringify(b.slice(-600))}, expected ${JSON.stringify(a.slice(-600))}`);
    }
  };
  const verb = async (aspect: Aspect, ...words: readonly string[]) => {
    const { code, stdout, stderr } = await stage.ctx(project, words);
    if (code !== 0) note(aspect, `ctx ${words.join(' ')}: ${code} ${stdout}${stderr}`.slice(0, 600));
  };
  const before = readTree(project, selection);

  const inside = await playedInside(stage, project, flow);
  note('apply', treeDifference(before, readTree(project, selection)));
  if (thorough) {
    const { stdout } = await stage.ctx(project, ['diff', '--json']);
    if (stdout.includes('"path"')) await verb('rollback', 'rollback', '1');
    const rolledBack = await stage.ctx(project, ['diff']);
    if (rolledBack.stdout !== '') note('rollback', rolledBack.stdout.slice(0, 400));
    compare(inside, await playedInside(stage, project, flow), 'again');
  }
  await verb('apply', 'apply', '--allow-sensitive');
  const applied = readTree(project, selection);
  const applies =
    treeDifference(before, applied) !== undefined || timeDifference(before, before, applied) !== undefined;
  if (applies) await verb('undo', 'apply', '--undo');
  note('undo', treeDifference(withoutObjects(before), withoutObjects(readTree(project, selection))));
  if (thorough) {
    await verb('drop', 'drop');
    note('drop', treeDifference(withoutObjects(before), withoutObjects(readTree(project, selection))));
  }

  stage.shell('/', `chmod -R u+rwX '${project}'; rm -rf '${project}'; mv '${start}' '${project}'`);
  const outside = await playedOutside(stage, project, flow);
  const expected = readTree(project, selection);
  compare(outside, inside, undefined);
  note('tree', treeDifference(expected, applied));
  note('times', timeDifference(before, expected, applied));
  rmSync(project, { recursive: true, force: true });
  return differences;
}
