import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../test/support/process.js';
import { carryTerminal } from '../base/carried-terminal.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { Starter } from '../base/starter.js';
import { frame, request as kinds } from './frame.js';
import { launch } from './launch.js';
import { canLaunchAtOnce, launchAtOnce } from './launch-at-once.js';
import { type Launch, notStarted, type RunningJail, terminalOf } from './launch-request.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';
import type { Report } from './report.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-launch-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const at = (name: string) => join(directory, name);
const native = (name: string) => fileURLToPath(new URL(`../../../native/${name}`, import.meta.url));

/** In the place of the jail program: writes down what it was started with and reads the plan, then does what `act` says. */
const program = at('jail');
const plan: Plan = [{ do: 'command', argv: ['true'] }];
const given = frame(0, kinds.jail, planBytes(plan));
writeFileSync(
  program,
  `#!/bin/sh
cd ${directory}
echo "$@" > words
cat /proc/$$/environ > environment
ls -l /proc/$$/fd > descriptors
head -c $(cat size) <&3 > given
say() { printf "$*\\000" >&4; }
. ./act
`,
);
chmodSync(program, 0o755);

const file = (name: string) => {
  writeFileSync(at(name), '', { flag: 'a' });
  return openSync(at(name), 'r');
};
const isOpen = (descriptor: number) => {
  try {
    fstatSync(descriptor);
    return true;
  } catch (error) {
    if (hasCode(error, 'EBADF')) return false;
    throw error;
  }
};
const text = (name: string) => readFileSync(at(name), 'utf8');
const acts = (script: string) => writeFileSync(at('act'), script);
const descriptors = () =>
  new Map(Array.from(text('descriptors').matchAll(/ (\d+) -> (.*)$/gm), (each) => [Number(each[1]), each[2]]));

beforeEach(() => {
  for (const name of ['words', 'environment', 'descriptors', 'given', 'go', 'ready']) rmSync(at(name), { force: true });
  writeFileSync(at('size'), String(given.length));
});

const whole = 'say 0 started; say 0 exited 512 1 2 3';
const waits = 'until test -e go; do sleep 0.02; done';
/** What says nothing and goes on until the lifeline ends. */
const lives = 'say 0 started; cat <&3 > /dev/null; say 0 exited 9 1 2 3';

interface Way {
  readonly start: (request: Launch) => RunningJail;
  readonly capture: boolean;
}
const starter = new Starter(native('start.node'));
const ways: Readonly<Record<string, Way>> = {
  'by Node': { start: launch, capture: true },
  'at once': { start: (request) => launchAtOnce(request, starter), capture: false },
};

async function state(promise: Promise<unknown>): Promise<string> {
  const waiting = new Promise<string>((resolve) => setTimeout(() => resolve('waits'), 60));
  return Promise.race([promise.then(() => 'done'), waiting]);
}

for (const [how, { start }] of Object.entries(ways)) {
  const plain = { program, plan, streams: 'inherit', input: 'nothing' } as const;

  describe(`a jail that is started ${how}`, () => {
    it('gets its plan and what belongs to it, and nothing else', async () => {
      acts(whole);
      const [lock, first, second, asking] = [file('lock'), file('first'), file('second'), file('asking')];
      const told: string[] = [];
      const beside = {
        open: () => asking,
        take: (report: Report) => void told.push(report.what),
        lose: () => void told.push('lost'),
      };
      const jail = start({ ...plain, lockDescriptor: lock, channels: [first, second], beside });
      assert.deepEqual([lock, first, second, asking].map(isOpen), [true, false, false, false], 'closed here');
      const outcome = await jail.done;
      assert.equal(outcome.exitCode, 2);
      await until(() => told.includes('lost'), 'it is told that the jail has ended');
      assert.deepEqual([text('words').trim(), text('environment')], ['beside', '']);
      assert.deepEqual(readFileSync(at('given')), given);
      const found = descriptors();
      assert.deepEqual(
        [0, 5, 6, 9, 10].map((each) => found.get(each)),
        ['/dev/null', at('asking'), at('lock'), at('first'), at('second')],
      );
      closeSync(lock);
    });

    it('gets nothing in the place of what it was not given', async () => {
      acts(whole);
      await start(plain).done;
      assert.equal(text('words').trim(), '');
      const found = descriptors();
      for (const each of [5, 6, 7, 8, 9]) assert.equal(found.get(each) ?? '/dev/null', '/dev/null', String(each));
    });

    it('reads from a descriptor that it is given', async () => {
      acts(`cat > read; ${whole}`);
      writeFileSync(at('input'), 'some input');
      const input = openSync(at('input'), 'r');
      await start({ ...plain, input }).done;
      assert.equal(text('read'), 'some input');
      closeSync(input);
    });

    it('has started when it says so', async () => {
      acts(`${waits}; ${whole}`);
      const jail = start(plain);
      assert.equal(await state(jail.started), 'waits');
      writeFileSync(at('go'), '');
      await jail.started;
      await jail.done;
    });

    it('has ended when that is told, unless it is still in a control group', async () => {
      acts(`${whole}; ${waits}`);
      const early = start(plain);
      assert.equal((await early.done).exitCode, 2);
      const grouped: Plan = [{ do: 'control group', directory: '/x' }, ...plan];
      writeFileSync(at('size'), String(frame(0, kinds.jail, planBytes(grouped)).length));
      const jail = start({ ...plain, plan: grouped });
      assert.equal(await state(jail.done), 'waits');
      writeFileSync(at('go'), '');
      assert.equal((await jail.done).exitCode, 2);
      // It goes with the file that the next test takes away.
      await until(() => !existsSync(`/proc/${early.pid}`), 'the first is gone');
    });

    it('is ended by its lifeline, as often as it is asked for', async () => {
      acts(lives);
      const jail = start(plain);
      await jail.started;
      jail.kill();
      jail.kill();
      assert.equal((await jail.done).signal, 'SIGKILL');
      jail.kill();
    });

    it('is signalled', async () => {
      acts(`trap 'say 0 exited 768 1 2 3; exit' USR1; say 0 started; while :; do sleep 0.02; done`);
      const jail = start(plain);
      await jail.started;
      assert.equal(typeof jail.pid, 'number');
      jail.signal('SIGUSR1');
      assert.equal((await jail.done).exitCode, 3);
    });

    it('that is ended before it listens was interrupted, and says so', async () => {
      acts(`cat <&3 > /dev/null; exit 125`);
      const jail = start(plain);
      jail.kill();
      await assert.rejects(jail.done, (error) => hasCode(error, 'ECANCELED'));
    });

    it('that says nothing of its command’s end has failed, and says how it ended itself', async () => {
      for (const [script, said] of [
        ['exit 7', /\(7\)/],
        ['say 0 started; exit 0', /\(0\)/],
        ['kill -KILL $$', /\(SIGKILL\)/],
      ] as const) {
        acts(script);
        await assert.rejects(start(plain).done, (error) => hasCode(error, 'EIO') && said.test(String(error)), script);
      }
    });

    it('that does not read its plan has said why', async () => {
      writeFileSync(at('size'), '1');
      acts('say 0 failed 0 start 22 this is not a plan; exit 125');
      const long: Plan = [{ do: 'command', argv: ['true', 'x'.repeat(1 << 20)] }];
      await assert.rejects(start({ ...plain, plan: long }).done, (error) => hasCode(error, 'EINVAL'));
    });

    it('that cannot be started is an error that names it, and what it was given is closed', async () => {
      const [channel, asking] = [file('first'), file('asking')];
      const beside = { open: () => asking, take: () => undefined, lose: () => undefined };
      const missing = { ...plain, program: at('missing'), channels: [channel], beside };
      await assert.rejects(
        async () => start(missing).done,
        (error) => error instanceof ErrnoError && error.code === 'ENOENT' && error.path === at('missing'),
      );
      assert.deepEqual([channel, asking].map(isOpen), [false, false]);
      for (const code of ['EMFILE', 'EAGAIN', 'ENOMEM', 'EACCES'] as const) {
        const said = notStarted(plain, Object.assign(new Error('spawn'), { code }));
        const expected = code === 'EACCES' ? ['ENOENT', true] : [code, false];
        assert.deepEqual(
          [said.code, said.remedy?.startsWith('install ctx again')],
          expected,
          'what is used up is said',
        );
      }
    });

    it('reports to whoever wants to know', async () => {
      acts('say 4 started; say 0 started; say 0 held 5 1 0; say 4 exited 0 1 2 3; say 0 exited 0 1 2 3');
      const [held, told]: [unknown[], Report[]] = [[], []];
      const beside = {
        open: () => file('asking'),
        take: (each: Report) => void told.push(each),
        lose: () => undefined,
      };
      await start({ ...plain, onHeld: (each) => void held.push(each), beside }).done;
      assert.deepEqual(held, [{ bytes: 5, files: 1, hidden: false }]);
      assert.deepEqual(
        told.map(({ id, what }) => [id, what]),
        [
          [4, 'started'],
          [4, 'exited'],
        ],
      );
    });
  });
}

describe('a jail that Node has started', () => {
  const plain = { program, plan, streams: 'inherit', input: 'nothing' } as const;

  it('was interrupted where a signal came before it listened', async () => {
    acts(waits);
    const jail = launch(plain);
    jail.signal('SIGTERM');
    await assert.rejects(jail.done, (error) => hasCode(error, 'ECANCELED'));
  });

  it('is ended as a whole by SIGKILL, and says how its command ended', async () => {
    acts(lives);
    const jail = launch(plain);
    await jail.started;
    jail.signal('SIGKILL');
    assert.equal((await jail.done).signal, 'SIGKILL');
  });
});

describe('a jail whose output is taken', () => {
  const taking = (onOutput: Launch['onOutput']): Launch => ({
    program,
    plan,
    streams: 'capture',
    input: 'nothing',
    ...(onOutput === undefined ? {} : { onOutput }),
  });

  it('says which stream it is, and has not ended before that has', async () => {
    acts(`${whole}; echo out; echo error >&2; : > ready; ${waits}; echo last`);
    const said = { stdout: '', stderr: '' };
    const { done } = launch(
      taking((stream, chunk) => {
        said[stream] += chunk;
      }),
    );
    await until(() => said.stdout !== '' && said.stderr !== '', 'something was said');
    assert.equal(await state(done), 'waits');
    writeFileSync(at('go'), '');
    assert.equal((await done).exitCode, 2);
    assert.deepEqual(said, { stdout: 'out\nlast\n', stderr: 'error\n' });
  });

  it('is not read while what was read is being taken', async () => {
    acts(`head -c 3000000 /dev/zero; ${whole}`);
    let [most, underWay, total] = [0, 0, 0];
    const { done } = launch(
      taking(async (_stream, chunk) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setTimeout(resolve, 1));
        underWay -= 1;
        total += chunk.length;
      }),
    );
    await done;
    assert.deepEqual([most, total], [1, 3_000_000]);
  });

  it('goes on where taking failed, and where no one takes it', async () => {
    acts(`head -c 300000 /dev/zero; ${whole}`);
    let total = 0;
    const failing = launch(
      taking(async (_stream, chunk) => {
        total += chunk.length;
        throw new Error('cannot be taken');
      }),
    );
    assert.equal((await failing.done).exitCode, 2);
    assert.equal(total, 300_000);
    assert.equal((await launch(taking(undefined)).done).exitCode, 2);
  });
});

describe('the way to start a jail', () => {
  it('is at once where it has this process’s own streams and no socket comes back', () => {
    const request = { program, plan } as const;
    const onServer = () => undefined;
    assert.equal(canLaunchAtOnce({ ...request, streams: 'inherit' }), true);
    assert.equal(canLaunchAtOnce({ ...request, streams: 'capture' }), false);
    assert.equal(canLaunchAtOnce({ ...request, streams: 'inherit', onServer }), false);
  });
});

describe('what carries the person’s terminal', () => {
  it('is given to a jail that has this process’s own streams, and closed here', async () => {
    const base = { program, plan } as const;
    const given: number[] = [];
    const streams = [
      { streams: 'inherit' },
      { streams: 'inherit', input: 'inherit' },
      { streams: 'inherit', input: 'nothing' },
      { streams: 'inherit', input: 0 },
      { streams: 'capture' },
      { streams: 'capture', input: 'inherit' },
    ] as const;
    assert.deepEqual(
      streams.map((each) => terminalOf({ ...base, ...each })),
      streams.map(() => undefined),
    );
    carryTerminal({
      terminal() {
        given.push(file('terminal'));
        return given.at(-1) ?? -1;
      },
      typed: () => -1,
    });
    assert.deepEqual(
      streams.map((each) => terminalOf({ ...base, ...each }) !== undefined),
      [true, true, false, false, false, false],
    );
    for (const descriptor of given.splice(0)) closeSync(descriptor);
    for (const { start } of Object.values(ways)) {
      acts(whole);
      await start({ ...base, streams: 'inherit' }).done;
      assert.equal(descriptors().get(8), at('terminal'));
      assert.deepEqual(given.splice(0).map(isOpen), [false]);
    }
  });
});
