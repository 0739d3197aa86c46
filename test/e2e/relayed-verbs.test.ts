/**
 * Verbs that a kept jail's process answers in the place of a Node of their own: the same words come out, with the same exit code,
 * and no Node is started; what could differ is left to Node.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { before, test } from 'node:test';
import { keptJailPlace } from '../../src/kept-jail/jail-place.js';
import { encodeFrame } from '../../src/kept-jail/jail-wire.js';
import { inKeptJail, requestOf } from '../support/kept-jail.js';
import { type Finished, type Running, start } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { parseJson, type Stage, useStage } from '../support/stage.js';
import { cannotType, TypedTerminal } from '../support/typed-terminal.js';
import { forEitherUser, isRoot, type TestUser } from '../support/users.js';

/** A `node` that counts its starts: who calls ctx with it on PATH knows whether Node was started. */
class CountedNode {
  readonly #stage: Stage;
  readonly #starts: string;

  constructor(stage: Stage, name: string) {
    this.#stage = stage;
    const directory = stage.makeDirectory(`node-${name}`);
    this.#starts = join(directory, 'starts');
    const script = `#!/bin/sh\necho >> '${this.#starts}'\nexec '${process.execPath}' "$@"\n`;
    writeFileSync(join(directory, 'node'), script, { mode: 0o755 });
  }

  get count(): number {
    return existsSync(this.#starts) ? readFileSync(this.#starts, 'utf8').length : 0;
  }

  get path(): string {
    return `${join(this.#starts, '..')}:${this.#stage.environment['PATH']}`;
  }
}

interface Case {
  readonly words: readonly string[];
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Below the project. */
  readonly directory?: string;
}

const claude = (tool: string, input: object, cwd = 'PROJECT') =>
  JSON.stringify({ session_id: 's', cwd, hook_event_name: 'PreToolUse', tool_name: tool, tool_input: input });
const json = (rest: object) => JSON.stringify({ version: 1, cwd: 'PROJECT', ...rest });

/** Each is answered by the kept jail. */
const relayed: readonly Case[] = [
  { words: ['hook', 'claude-code'], input: claude('Read', { file_path: 'PROJECT/file' }) },
  { words: ['hook', 'claude-code', '--approve'], input: claude('Edit', { file_path: 'file' }) },
  { words: ['hook', 'claude-code'], input: claude('Read', { file_path: '/etc/shadow' }) },
  { words: ['hook', 'claude-code'], input: claude('Bash', { command: 'npm test' }) },
  { words: ['hook', 'claude-code', '--bash', 'deny'], input: claude('Bash', { command: 'npm test' }) },
  { words: ['hook', 'claude-code', '--read', '..'], input: claude('Read', { file_path: '../x' }) },
  { words: ['hook', 'claude-code', '--agent', 'nobody-knows'], input: claude('Read', { file_path: 'file' }) },
  { words: ['hook', 'claude-code'], input: claude('Write', { file_path: 'new', content: 'x'.repeat(3_000_000) }) },
  { words: ['hook', 'claude-code'], input: '{' },
  { words: ['hook', 'claude-code'], input: '' },
  { words: ['hook', 'claude-code'], input: Buffer.from([0xff, 0xfe]) },
  { words: ['hook', 'claude-code'], input: claude('Read', { file_path: 'file' }), directory: 'inner' },
  {
    words: ['hook', 'claude-code'],
    input: claude('Read', { file_path: 'PROJECT/file' }),
    env: { CLAUDE_PROJECT_DIR: '/usr' },
  },
  { words: ['hook', 'json'], input: json({ tool: 'write', paths: ['file'] }) },
  { words: ['hook', 'json', '--net', 'example.org'], input: json({ tool: 'fetch', url: 'https://example.org/' }) },
  { words: ['hook', 'json'], input: 'x'.repeat(17 * 1024 * 1024) },
  { words: ['why', 'read', 'file'] },
  { words: ['why', 'write', '../other', '--json'], directory: 'inner' },
  { words: ['why', 'read', '/etc/shadow'] },
  { words: ['why', '--json', 'tool:fs.read', 'execute'] },
  { words: ['why', 'nonsense', 'x'] },
  { words: ['why', '--json', 'tool:fs.read', 'sing'] },
  { words: ['why', '--agent', 'nobody-knows', 'read', 'file'] },
  { words: ['why', 'exec', '/usr/bin/env'], env: { FORCE_COLOR: '1' } },
  { words: ['why', 'read', 'PROJECT/bin/tool'], env: { PATH: 'PROJECT/bin:PATH' } },
  { words: ['approvals', 'list'] },
  { words: ['approvals', 'list', '--all', '--json'] },
  { words: ['approvals', 'show', 'FIRST'] },
  { words: ['approvals', 'show', 'FIRST', '--json'] },
  { words: ['approvals', 'grant', 'FIRST', '--net', 'not a host'] },
  { words: ['approvals', 'grant', 'FIRST', '--why', 'because'], env: { FORCE_COLOR: '1' } },
  { words: ['approvals', 'grant', 'FIRST'] },
  { words: ['approvals', 'grant', '--json', 'SECOND', '--for', 'session'] },
  { words: ['approvals', 'deny', 'THIRD', '--why', 'use \u001b[31mthe mirror'] },
  { words: ['approvals', 'deny', 'nosuch'] },
  { words: ['approvals', 'list', '--all'] },
];

/** Each is left to Node. */
const left: readonly Case[] = [
  { words: ['why', '--help'] },
  { words: ['why', '--nonsense', 'read', 'file'] },
  { words: ['why', 'read'] },
  { words: ['approvals', 'grant', 'x', '--for', 'ever'] },
  { words: ['hook', 'json', '--bash', 'sing'], input: '{}' },
  { words: ['why', 'read', 'file'], env: { CTX_ROOT: 'PROJECT/elsewhere' } },
  { words: ['why', 'read', 'file'], env: { HOME: 'PROJECT' } },
  { words: ['approvals', 'list'], env: { XDG_CONFIG_HOME: 'PROJECT/configuration' } },
];

forEitherUser(suite, { concurrency: 1 }); // all see the approvals of one store

function suite(user: TestUser): void {
  const stage = useStage(user);
  before(() => rmSync(stage.rules));

  /**
   * Requests that wait, by the last word of each; the process that asks is there, and stopped, so that no answer makes
   * anything run.
   */
  async function asked(project: string, names: readonly string[]) {
    const words = (name: string) => ['exec', '--agent', 'asking', '--', 'curl', name];
    const askers: Running[] = [];
    for (const name of names) {
      const asker = stage.startCtx(project, words(name));
      askers.push(asker);
      await asker.printed('asks for approval');
      asker.child.kill('SIGSTOP');
    }
    const end = async () => {
      for (const asker of askers) {
        asker.child.kill('SIGKILL');
        await asker.finished;
      }
    };
    const { stdout } = await stage.ctx(project, ['approvals', 'list', '--json']);
    const { approvals } = parseJson(stdout) as { approvals: readonly { id: string; argv: readonly string[] }[] };
    return { end, ids: new Map(approvals.map(({ id, argv }) => [argv.at(-1) ?? '', id])) };
  }

  test('say what Node says', async () => {
    const project = stage.project('mkdir inner bin; echo 1 > file; echo > bin/tool; chmod +x bin/tool; git init -q .');
    const node = new CountedNode(stage, 'same');
    assert.equal((await stage.ctx(project, ['agent', 'new', 'asking'])).code, 0);

    const answers = async (cases: readonly Case[], names: readonly string[], starts: 'none' | 'each') => {
      const { ids, end } = await asked(project, names);
      const [first = '', second = '', third = ''] = names.map((name) => ids.get(name) ?? '');
      const fill = (text: string) =>
        text
          .replaceAll('PROJECT', project)
          .replaceAll('PATH', node.path)
          .replaceAll('FIRST', first)
          .replaceAll('SECOND', second)
          .replaceAll('THIRD', third);
      const found: unknown[] = [];
      for (const { words, input, env = {}, directory = '.' } of cases) {
        const before = node.count;
        const set = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
        const { code, stdout, stderr } = await stage.ctx(join(project, directory), words.map(fill), {
          input: typeof input === 'string' ? fill(input) : (input ?? ''),
          env: { PATH: node.path, ...set },
        });
        assert.equal(node.count - before, starts === 'none' ? 0 : 1, `starts of Node: ${words.join(' ')}\n${stderr}`);
        // Whatever belongs to one request alone.
        const same = (text: string) =>
          [first, second, third, ...names]
            .reduce((rest, one, index) => rest.replaceAll(one, `<${index % 3}>`), text)
            .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\b1[0-9]{12}\b|(?:sha256:)?[0-9a-f]{64}/g, '<>');
        found.push({ words, env, code, stdout: same(stdout), stderr: same(stderr) });
      }
      await end();
      rmSync(join(stage.store, 'approval'), { recursive: true, force: true });
      return found;
    };

    const alone = await answers(relayed, ['one', 'two', 'three'], 'each');
    const leftAlone = await answers(left, [], 'each');
    await inKeptJail(
      stage,
      async () => {
        assert.deepEqual(await answers(relayed, ['one', 'two', 'three'], 'none'), alone);
        assert.deepEqual(await answers(left, [], 'each'), leftAlone);
      },
      { project },
    );
    assert.equal(new Set(alone.map((each) => (each as Finished).code)).size >= 4, true, 'several exit codes');
  });

  test('a command that waits in the kept jail is granted by way of the kept jail, and the record says by whom', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'waiter'])).code, 0);
    await inKeptJail(
      stage,
      async () => {
        const running = stage.startCtx(project, [
          'exec',
          '--agent',
          'waiter',
          '--',
          'sh',
          '-c',
          'true || curl x; echo ran',
        ]);
        await running.printed('asks for approval');
        const [id = ''] = /[0-9a-f]{8}/.exec((await stage.ctx(project, ['approvals', 'list'])).stdout) ?? [];
        assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 0);
        assert.equal((await running.finished).stdout, 'ran\n');
        const grant = recordsOf(stage.store).find(
          ({ type, object }) => type === 'approval.grant' && object.endsWith(id),
        );
        assert.equal(grant?.facts?.['by'], `uid ${user.uid}`);
      },
      { project, options: ['--agent', 'waiter'] },
    );
  });

  test('colours are for terminals, as Node has it', { skip: cannotType ?? false }, () =>
    inKeptJail(stage, async ({ project }) => {
      const script = `${stage.program} why read /etc/shadow > out; ${stage.program} why read /etc/shadow; cat -v out; echo end`;
      const terminal = new TypedTerminal(stage, 'colours', project, `sh -c '${script}; sleep 1000'`);
      try {
        const screen = await terminal.shows(/^end$/m);
        assert.equal(screen.includes('^['), false, screen);
        assert.match(screen, /refused \(ENOENT\)/);
      } finally {
        terminal.close();
      }
    }),
  );

  test('a command of a kept jail asks at the terminal it was called from, too', {
    skip: cannotType ?? false,
  }, async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'typed'])).code, 0);
    const call = (word: string) =>
      `${stage.program} exec --agent typed -- sh -c "true || curl ${word}; echo ran ${word}"`;
    const script = `${call('one')}; ${call('two')}; echo "ended $?"; ${call('three')}; sleep 1000`;
    await inKeptJail(
      stage,
      async () => {
        const terminal = new TypedTerminal(stage, 'asked', project, `sh -c '${script}'`);
        try {
          await terminal.shows(/curl one[\s\S]*\[N\]o:/);
          terminal.type('y', 'Enter');
          // The terminal is the command's own while it runs, and as it was before when the report is written.
          assert.match(await terminal.shows(/^ran one\nctx {2}exit 0/m), /^ {2}.*\bcurl is networked/m);
          await terminal.shows(/curl two[\s\S]*\[N\]o:/);
          terminal.type('n', 'Enter');
          await terminal.shows(/^ended 13$/m);
          // Answered elsewhere, the question is taken back.
          await terminal.shows(/curl three[\s\S]*\[N\]o:/);
          const { stdout } = await stage.ctx(project, ['approvals', 'list', '--json']);
          const { approvals } = parseJson(stdout) as { approvals: readonly { id: string; argv: readonly string[] }[] };
          const id = approvals.find(({ argv }) => argv.join().includes('three'))?.id ?? '';
          assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 0);
          await terminal.shows(/^ran three$/m);
        } finally {
          terminal.close();
        }
      },
      { project, options: ['--agent', 'typed'] },
    );
  });

  test('a denial that a kept jail answers is in the record, like any other', () =>
    inKeptJail(stage, async ({ project }) => {
      // Its own alone: other tests of this store are denied things, too.
      const path = `/etc/no-${basename(project)}`;
      const denials = () => recordsOf(stage.store).filter((record) => JSON.stringify(record).includes(path)).length;
      const input = json({ tool: 'read', paths: [path] }).replaceAll('PROJECT', project);
      assert.match((await stage.ctx(project, ['hook', 'json'], { input })).stdout, /"deny"/);
      assert.equal(denials(), 1);
      assert.equal((await stage.ctx(project, ['audit', 'verify'])).code, 0);
    }));

  test(
    'nobody but its own user is answered, not even root',
    {
      skip: isRoot && user.uid !== 0 ? false : 'needs a second user who can reach the socket',
    },
    () =>
      inKeptJail(stage, async ({ project }) => {
        const environment = Object.entries(stage.environment).map((each) => each.join('='));
        const request = requestOf(stage, '/', '', '', '2', 'approvals', 'list', ...environment);
        const { socket } = keptJailPlace(stage.store, project, 'main');
        const answer = await new Promise<string>((resolve) => {
          const client = connect(socket, () => {
            client.write(encodeFrame('R', request));
          });
          const chunks: Buffer[] = [];
          client.on('data', (chunk: Buffer) => chunks.push(chunk));
          client.on('close', () => resolve(Buffer.concat(chunks).toString('latin1', 4)));
        });
        assert.equal(answer, 'N', 'refused, and nothing else is said');
        const stopped = await start([stage.program, 'jail', 'stop'], { cwd: project, env: stage.environment }).finished;
        assert.match(stopped.stderr, /another user \(uid \d+\) owns/);
        assert.equal(stopped.code, 13);
      }),
  );
}
