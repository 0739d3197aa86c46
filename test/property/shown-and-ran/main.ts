/**
 * One run as one user: `node main.js UID GID DIRECTORY ROUNDS SEED`, with HOME and CTX_DATA. Each round a command is asked about,
 * something happens meanwhile, somebody answers; a command that then runs has to print exactly what could be seen when it was asked.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Asked, ErrnoError, open, operate, type Workspace } from 'ctxfs';
import { hasSoakTime, randomFrom } from '../../support/random.js';

const [uid = 0, gid = 0] = process.argv.slice(2, 4).map(Number);
const [project = '', rounds = '1', seed = '1'] = process.argv.slice(4);
if (process.getuid?.() !== uid) {
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

const random = randomFrom(Number(seed) >>> 0);
const below = (count: number) => Math.floor(random() * count);
function pick<T>(from: readonly T[]): T {
  const found = from[below(from.length)];
  assert.ok(found !== undefined);
  return found;
}

/** What a command sees, as it has to be: `script` and `data` are the person's, `work` is the fork's, `note` is in its home. */
const seen = { script: 0, data: '', work: '', note: '' };
let made = 0;
const fresh = () => `text ${made++}\n`;

function writeScript(): void {
  seen.script = made++;
  const text = `echo ${seen.script}; cat data work "$HOME/note"; printf '%s\\n' "$MARK" "$@"; cat\n`;
  // Replaced, as editors do, or written in place.
  const name = join(project, 'report.sh');
  if (random() < 0.5) writeFileSync(name, text);
  else {
    writeFileSync(`${name}.new`, text);
    renameSync(`${name}.new`, name);
  }
}

function writeData(): void {
  seen.data = fresh();
  writeFileSync(join(project, 'data'), seen.data);
}

interface Command {
  readonly argv: readonly string[];
  readonly mark: string;
  readonly input: string;
}

const words = ['a', '-n', '', 'x y', "it's", '$(id)', 'é', '\u202e', 'line\nbreak', '*'];

function newCommand(): Command {
  const rest = Array.from({ length: below(4) }, () => pick(words));
  return {
    argv: ['sh', 'report.sh', ...rest],
    mark: random() < 0.5 ? '' : fresh().trim(),
    input: random() < 0.5 ? '' : fresh(),
  };
}

function outputOf({ argv, mark, input }: Command): string {
  const { script, data, work, note } = seen;
  return [`${script}\n`, data, work, note, `${mark}\n`, ...argv.slice(2).map((word) => `${word}\n`), input].join('');
}

/** Every member that is bound and is not the default is in the question. */
function assertShown(asked: Asked, { argv, mark, input }: Command): void {
  assert.deepEqual(asked.argv, argv);
  const shown = asked.shown.join('\n');
  if (mark !== '') assert.ok(shown.includes(`environment: MARK=${mark}`), shown);
  if (input !== '') assert.ok(shown.includes(createHash('sha256').update(input).digest('hex')), shown);
}

const operator = await operate();
await operator.rules.add({ action: 'require_approval', match: { command: ['sh', 'report.sh'], prefix: true } });
writeScript();
writeData();
const first: Workspace = await open({ directory: project });
/** Another asker, and the process that works beside: with a jail of its own. */
const second: Workspace = await open({ directory: project });

/** Undefined where a command that was approved for what is there runs: no other may come that could change it. */
async function unlessBound<T>(running: Promise<T>): Promise<T | undefined> {
  return running.catch((error: unknown) => {
    assert.ok(error instanceof ErrnoError && error.code === 'EBUSY', String(error));
    assert.match(error.reason, /was approved once, for the fork exactly as it is/);
    return undefined;
  });
}

async function inFork(file: 'work' | 'note', by: Workspace): Promise<boolean> {
  const text = fresh();
  const target = file === 'work' ? 'work' : '"$HOME/note"';
  const ended = await unlessBound(by.exec({ shell: `printf '%s\\n' '${text.trim()}' > ${target}` }));
  if (ended === undefined) return false;
  assert.equal(ended.exitCode, 0);
  seen[file] = text;
  return true;
}

await inFork('work', second);
await inFork('note', second);

const doing = (act: () => unknown, isSeen: boolean) => async () => {
  await act();
  return isSeen;
};

/** What happens while the question waits. `true` where the command would see it. */
const meanwhiles: readonly (readonly [name: string, act: () => Promise<boolean>])[] = [
  ['nothing', async () => false],
  ['nothing at all', async () => false],
  ['the script', doing(() => writeScript(), true)],
  ['the data', doing(() => writeData(), true)],
  ['the fork', () => inFork('work', second)],
  ['the home', () => inFork('note', second)],
  [
    'the data, and back',
    async () => {
      const { data } = seen;
      writeData();
      await sleep(below(5));
      seen.data = data;
      writeFileSync(join(project, 'data'), data);
      return true;
    },
  ],
  ['a look', doing(() => unlessBound(second.exec(['cat', 'data'])), false)],
  ['a touch', doing(() => utimesSync(join(project, 'data'), new Date(), new Date()), true)],
];

type End =
  | { readonly ran: string; readonly exitCode: number | null; readonly complaint: string }
  | { readonly refused: string };

const ran: Record<string, number> = {};

async function round(index: number): Promise<void> {
  const command = newCommand();
  const [name, meanwhile] = pick(meanwhiles);
  const answer = pick(['grant', 'grant', 'grant', 'deny', 'none', 'gone'] as const);
  const late = random() < 0.3;
  const by = random() < 0.7 ? first : second;
  const kept = random() < 0.5 || command.input !== '';
  let expected = '';
  let isChanged = false;
  let acting: Promise<void> | undefined;
  let questions = 0;
  const leaving = new AbortController();
  const act = async () => {
    isChanged = await meanwhile();
  };
  const onApproval = async (asked: Asked) => {
    questions += 1;
    assertShown(asked, command);
    expected = outputOf(command);
    if (!late) await act();
    // Asked for by somebody that has gone: there is nothing to grant any more.
    if (answer === 'gone') leaving.abort();
    if (answer === 'grant') operator.approvals.grant(asked.id);
    if (answer === 'deny') operator.approvals.deny(asked.id);
    if (late) {
      acting = sleep(below(60)).then(act);
      acting.catch(() => undefined);
    }
    return undefined;
  };
  const options = {
    environment: [`MARK=${command.mark}`],
    onApproval,
    approvalMilliseconds: answer === 'none' ? 200 : 60_000,
    signal: leaving.signal,
  };
  const running = kept
    ? by.run(command.argv, { ...options, input: command.input })
    : by.exec(command.argv, { ...options, streams: 'capture' });
  const end: End = await running.then(
    ({ stdout, stderr, exitCode }) => ({ ran: stdout?.text ?? '', exitCode, complaint: stderr?.text ?? '' }),
    (error: unknown) => ({ refused: error instanceof ErrnoError ? error.code : String(error) }),
  );
  await acting;
  const shown = JSON.stringify({ index, command, name, answer, late, kept, isChanged, end, expected });
  assert.equal(questions, 1, shown);
  if ('ran' in end) {
    assert.equal(answer, 'grant', shown);
    assert.equal(end.ran, expected, shown);
    ran[name] = (ran[name] ?? 0) + 1;
  } else {
    assert.ok(['ESTALE', 'EACCES', 'ECANCELED', 'EBUSY'].includes(end.refused), shown);
    // What no one touched runs.
    if (answer === 'grant' && !isChanged && name !== 'a look') assert.fail(`refused without a reason: ${shown}`);
  }
}

let done = 0;
for (; done < Number(rounds) && hasSoakTime(); done++) await round(done);
await Promise.all([first.close(), second.close()]);
console.log(JSON.stringify({ rounds: done, ran }));
