/**
 * An agent against the person's approvals: what waits is granted over the operator's socket, or in the store, and both are in no
 * jail. The same program with the same words grants it outside.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keptJailPlace } from '../../src/kept-jail/jail-place.js';
import { inKeptJail } from '../support/kept-jail.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { cannotType, TypedTerminal } from '../support/typed-terminal.js';
import { forEitherUser } from '../support/users.js';

forEitherUser(
  (user) => {
    const stage = useWarmStage(user);
    before(async () => assert.equal((await stage.ctx(stage.home, ['agent', 'new', 'agent'])).code, 0));

    const statusOf = async (project: string, id: string) => {
      const { stdout, stderr } = await stage.ctx(project, ['approvals', 'show', '--json', id]);
      return (parseJson(stdout, stderr) as { approval: { status: string } }).approval.status;
    };

    const waitingIn = async (project: string) => {
      const { approvals } = (await stage.json(project, ['approvals', 'list'])) as {
        approvals: readonly { id: string; directory: string }[];
      };
      return approvals.filter(({ directory }) => directory === project);
    };

    /** A project with a kept jail, the native client in it, and a command of an agent that waits. */
    const waiting = (use: (project: string, id: string, ask: string) => Promise<void>) => {
      const project = stage.project();
      const built = join(dirname(stage.program), '..', 'dist');
      copyFileSync(join(built, 'native', 'call'), join(project, 'call'));
      // Of the kept jail's own build, and nothing that Node could run: the client does it, or no one.
      const client = `./call ${join(built, 'cli', 'nothing')}`;
      return inKeptJail(
        stage,
        async () => {
          const running = stage.startCtx(project, ['exec', '--agent', 'agent', '--', 'curl', 'https://example.org/']);
          await running.printed('asks for approval');
          const id = (await waitingIn(project))[0]?.id ?? '';
          try {
            await use(project, id, `CTX_DATA=${stage.store} ${client} approvals grant ${id}`);
          } finally {
            await stage.ctx(project, ['approvals', 'deny', id]);
            await running.finished;
          }
        },
        { project },
      );
    };

    test('outside, the client alone grants it', () =>
      waiting(async (project, id, ask) => {
        assert.equal(stage.shell(project, ask), `granted ${id} (once)\n`);
        assert.match(await statusOf(project, id), /^(granted|used)$/);
      }));

    const grants: readonly (readonly [string, readonly string[]])[] = [
      ['in a jail of its own', []],
      ['with the directory of the store granted', ['--read', 'STORE/..']],
      ['with the store granted directly', ['--write-live', 'STORE']],
    ];
    for (const [where, options] of grants) {
      test(`inside it reaches neither the socket nor the request: ${where}`, () =>
        waiting(async (project, id, ask) => {
          const { socket } = keptJailPlace(stage.store, project, 'main');
          assert.ok(existsSync(socket), 'outside it is there');
          const script = `${ask}; node -e 'require("net").connect("${socket}").on("connect", () => console.log("won")).on("error", () => {})'
            find / -xdev \\( -name '*.socket' -o -name '${id}*' \\) 2>/dev/null; true`;
          assert.equal((await stage.ctx(project, ['fork', 'create', 'other'])).code, 0);
          const words = options.map((word) => word.replace('STORE', stage.store));
          const { code, stdout, stderr } = await stage.ctx(project, [
            'exec',
            '--wait',
            '--fork',
            'other',
            ...words,
            '--',
            'sh',
            '-c',
            script,
          ]);
          assert.deepEqual([stdout, await statusOf(project, id)], ['', 'waiting'], stderr);
          assert.equal(code, 0, stderr);
        }));
    }

    for (const kept of [false, true]) {
      const how = kept ? 'of a kept jail' : 'of its own';
      test(`what was typed before the question stood there does not answer it, for a command ${how}`, {
        skip: cannotType ?? false,
      }, async () => {
        const project = stage.project();
        const ask = `${stage.program} exec --agent agent -- curl https://example.org/`;
        const early = 'stty -echo; echo ready; until test -e go; do sleep 0.1; done';
        const use = async () => {
          const plain = new TypedTerminal(
            stage,
            `plain-${kept}`,
            project,
            `sh -c '${early}; read line; echo heard $line'`,
          );
          const asked = new TypedTerminal(stage, `asked-${kept}`, project, `sh -c '${early}; ${ask}; echo ended $?'`);
          try {
            for (const terminal of [plain, asked]) {
              await terminal.shows(/ready/);
              terminal.type('y', 'Enter', 'y');
            }
            stage.shell(project, 'touch go');
            await plain.shows(/heard y/);
            await asked.shows(/\[N\]o:/);
            // Were it answered with what was typed, it would have run by now; what is typed now is the answer, whole.
            asked.type('Enter');
            await asked.shows(/ended 13/);
          } finally {
            plain.close();
            asked.close();
          }
        };
        await (kept ? inKeptJail(stage, use, { project, options: ['--agent', 'agent'] }) : use());
      });
    }

    for (const kept of [false, true]) {
      test(`of two questions on one terminal one is asked at a time, for commands ${kept ? 'of a kept jail' : 'of their own'}`, {
        skip: cannotType ?? false,
      }, async () => {
        const project = stage.project();
        const ask = (name: string) =>
          `(${stage.program} exec --wait --agent agent --report never -- sh -c "true || curl ${name}; echo ran-${name}" < /dev/tty; echo "ended-${name} $?")`;
        const use = async () => {
          const name = `two-${kept}`;
          const terminal = new TypedTerminal(stage, name, project, `sh -c '${ask('a')} & ${ask('b')}; wait'`);
          try {
            const screen = await terminal.shows(/\[N\]o:/);
            const first = /curl ([ab]);/.exec(screen)?.[1] ?? '';
            const second = first === 'a' ? 'b' : 'a';
            while ((await waitingIn(project)).length < 2) await sleep(50);
            assert.equal(terminal.screen().match(/Run it/g)?.length, 1, 'the other question is not there yet');
            terminal.type('y', 'Enter');
            await terminal.shows(new RegExp(`ended-${first} 0`));
            // What the first prints may be over the end of the second question.
            await terminal.shows(/Run it[\s\S]*Run it/);
            terminal.type('n', 'Enter');
            const end = await terminal.shows(new RegExp(`ended-${second} 13`));
            assert.ok(end.includes(`ran-${first}`));
          } finally {
            terminal.close();
          }
        };
        await (kept ? inKeptJail(stage, use, { project, options: ['--agent', 'agent'] }) : use());
      });
    }

    test('inside the kept jail’s own jail it does not either, and the record has no grant', () =>
      waiting(async (project, id, ask) => {
        const { stdout } = await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', `${ask}; true`]);
        assert.equal(stdout, '');
        assert.equal(await statusOf(project, id), 'waiting');
        assert.deepEqual(
          recordsOf(stage.store).filter(({ type, object }) => type === 'approval.grant' && object.endsWith(id)),
          [],
        );
      }));
  },
  { concurrency: 1 },
);
