/**
 * What an apply does to one entry, with a person, or a kill, at every step of it: nothing of the person's is lost, what
 * is told is so, and nothing of ours is left beside it.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { cannotKillAt, compileKillAt, notKilled } from '../../../test/support/kill-at.js';
import { until } from '../../../test/support/process.js';
import { freshPlace, isRoot, program } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at } = freshPlace();

const makes = {
  nothing: () => undefined,
  'old file': (path: string) => writeFileSync(path, 'old'),
  'new file': (path: string) => writeFileSync(path, 'new'),
  link: (path: string) => symlinkSync('elsewhere', path),
  'other link': (path: string) => symlinkSync('there', path),
  directory: (path: string) => mkdirSync(path),
};
type Kind = keyof typeof makes;

/** Of an entry, all that a person sees. */
function seen(path: string): string {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return 'nothing';
  if (status.isSymbolicLink()) return `to ${readlinkSync(path)}`;
  return status.isDirectory() ? `with ${readdirSync(path).join()}` : readFileSync(path, 'utf8');
}

/** What is there before, and what the fork has: `nothing` is removed. */
const all: readonly (readonly [Kind, Kind])[] = [
  ['old file', 'new file'],
  ['nothing', 'new file'],
  ['old file', 'link'],
  ['link', 'other link'],
  ['nothing', 'link'],
  ['directory', 'new file'],
  ['old file', 'directory'],
  ['old file', 'nothing'],
  ['link', 'nothing'],
  ['directory', 'nothing'],
];

/** One entry `f`: in the fork, in what was looked at, and in the person's directory. */
class Trial {
  readonly name: string;
  readonly home: string;
  readonly #kinds: readonly [Kind, Kind];
  readonly #durable: boolean;

  constructor(kinds: readonly [Kind, Kind], durable: boolean) {
    this.name = `${kinds.join(' becomes ')}${durable ? ' on the disk' : ''}`;
    this.home = at(this.name.replaceAll(' ', '-'));
    this.#kinds = kinds;
    this.#durable = durable;
  }

  at = (...names: string[]) => join(this.home, ...names);
  seen = (place: string) => seen(this.at(place, 'f'));
  /** All that is in the person's directory but the entry. */
  others = () =>
    readdirSync(this.at('origin'))
      .filter((name) => name !== 'f')
      .sort();

  get action(): string {
    return this.#kinds[1] === 'nothing' ? 'remove' : 'put';
  }

  begin(): void {
    const [before, after] = this.#kinds;
    rmSync(this.home, { recursive: true, force: true });
    for (const [place, kind] of Object.entries({ origin: before, kept: before, upper: after })) {
      mkdirSync(this.at(place), { recursive: true });
      makes[kind](this.at(place, 'f'));
    }
  }

  async run(action: string, before: readonly string[] = [], after: readonly string[] = []) {
    const words = ['apply', '--upper', this.at('upper'), '--to', this.at('origin'), '--layer', this.at('kept')];
    const [file = '', ...rest] = [...before, program, ...words, ...(this.#durable ? ['--durable'] : []), ...after];
    const child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    const bytes: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => bytes.push(chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(`${action}\0f\0`);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, told: splitFields(Buffer.concat(bytes)) };
  }
}

/** A trial of each kind, or of those, all at once: most of the time they wait. */
const trials = (act: (trial: Trial) => Promise<void>, kinds = all) =>
  Promise.all([...kinds.map((each) => new Trial(each, false)), new Trial(['old file', 'new file'], true)].map(act));
/** Where a file of the person's is replaced or removed, or one may come. */
const ofFiles = all.filter(
  ([before, after]) => before === 'old file' || (before === 'nothing' && after === 'new file'),
);

/** What a person does to `f`. A file is not waited for: who waits gets it when the apply has let it go. */
const persons: Readonly<Record<string, { script: string; leaves: string }>> = {
  'saves over it': { script: 'printf saved > mine && mv -T mine f || { rm -f mine; false; }', leaves: 'saved' },
  'saves into it': { script: 'test ! -L f && printf saved | dd of=f oflag=nonblock status=none', leaves: 'saved' },
  // As what is there, and as what comes.
  'saves as many bytes over it': {
    script: 'printf own > mine && mv -T mine f || { rm -f mine; false; }',
    leaves: 'own',
  },
  'saves as many bytes into it': {
    script: 'test ! -L f && printf own | dd of=f oflag=nonblock status=none',
    leaves: 'own',
  },
  'removes it': { script: 'test -e f -o -L f && rm -rf f', leaves: 'nothing' },
  'has a directory there': { script: 'rm -rf f; mkdir f && printf saved > f/mine', leaves: 'with mine' },
};

describe('a person at every step of an apply', () => {
  for (const [name, { script, leaves }] of Object.entries(persons)) {
    it(`${name}: that is kept, and told as it is`, async (context) => {
      const killAt = compileKillAt(at('.'));
      if (killAt === undefined) return context.skip(cannotKillAt);
      await trials(async (trial) => {
        for (let step = 1, isOver = false; !isOver; step += 1) {
          trial.begin();
          const acted = `cd '${trial.at('origin')}'; { ${script}; } 2>/dev/null && : > '${trial.at('acted')}'`;
          const { code, told } = await trial.run(trial.action, [killAt, `${step}:${acted}`, trial.at('origin')]);
          isOver = code === notKilled;
          const what = `${trial.name}, step ${step}: ${told.join(' ')}`;
          assert.ok(code === 0 || (isOver && step > 1), `${what}: ${code}`);
          const [verdict = '', ...more] = told.filter((word) => word === 'done' || word === 'clash');
          assert.deepEqual(more, [], what);
          const aside = told.filter((_, index) => told[index + 1] === 'aside');
          assert.deepEqual(trial.others(), [...aside].sort(), `${what}: nothing else is there`);
          const now = trial.seen('origin');
          const merges = trial.seen('upper').startsWith('with');
          if (!existsSync(trial.at('acted'))) {
            assert.equal(now, trial.seen(verdict === 'done' ? 'upper' : 'kept'), what);
            assert.ok(verdict === 'done' || step > 1, what);
            if (isOver) assert.equal(verdict, 'done', what);
            continue;
          }
          // Done before, or a clash; what they saved is in its place, or beside it.
          if (verdict === 'clash') assert.equal(now, leaves, what);
          const texts = aside.map((path) => seen(trial.at('origin', path)));
          if (!merges || leaves !== 'nothing') assert.ok([now, ...texts].includes(leaves), `${what}: ${now} ${texts}`);
          const agree = merges || (trial.action === 'remove' && leaves === 'nothing');
          if (step === 1 && !agree) assert.equal(verdict, 'clash', what);
        }
      }, ofFiles);
    });
  }
});

describe('a person who saves again and again, from every step of an apply on', () => {
  const saves = 4;
  const ways = {
    over: 'printf "$text" > mine && mv -T mine f || { rm -f mine; false; }',
    into: 'test ! -L f && printf "$text" | dd of=f oflag=nonblock status=none',
  };
  /** As many bytes as what comes has, and more. */
  const saved = (save: number | string, long: boolean) => (long ? `save ${save}` : `s.${save}`);
  /** What was in the place when it was saved over is theirs to lose. */
  const scriptOf = (way: string, long: boolean) => `n=$(($(cat ../count) + 1)); test $n -le ${saves} || exit 0
    there=$(cat f); text="${saved('$n', long)}"
    { ${way}; } && echo "$there" >> ../replaced && echo $n > ../count`;

  for (const [name, way, long] of Object.entries(ways).flatMap(([name, way]) => [
    [`${name} it`, way, true] as const,
    [`${name} it as many bytes`, way, false] as const,
  ]))
    it(`${name} has every save that was not saved over by a later one, in its place or beside it`, async (context) => {
      const script = scriptOf(way, long);
      const killAt = compileKillAt(at('.'));
      if (killAt === undefined) return context.skip(cannotKillAt);
      await trials(async (trial) => {
        if (/link|directory/.test(trial.name)) return;
        for (let step = 1; ; step += 1) {
          trial.begin();
          writeFileSync(trial.at('count'), '0');
          writeFileSync(trial.at('replaced'), '');
          const acted = `cd '${trial.at('origin')}'; { ${script}; } 2>/dev/null`;
          const { code, told } = await trial.run(trial.action, [killAt, `${step}+:${acted}`, trial.at('origin')]);
          if (code === notKilled) return assert.ok(step > 1, trial.name);
          const what = `${trial.name}, step ${step}: ${told.join(' ')}`;
          assert.equal(code, 0, what);
          const aside = told.filter((_, index) => told[index + 1] === 'aside');
          assert.deepEqual(trial.others(), [...aside].sort(), `${what}: nothing else is there`);
          const texts = [...aside.map((path) => seen(trial.at('origin', path))), trial.seen('origin')];
          const replaced = readFileSync(trial.at('replaced'), 'utf8').split('\n');
          for (let save = 1; save <= Number(readFileSync(trial.at('count'), 'utf8')); save += 1) {
            const text = saved(save, long);
            assert.ok(
              texts.includes(text) || replaced.includes(text),
              `${what}: ${text} of ${texts.join()}, ${replaced.join()}`,
            );
          }
        }
      }, ofFiles);
    });
});

describe('a person who is on the way into a file at every step of an apply', () => {
  /**
   * Whoever comes while the file is held waits in the open, with what they save: as many bytes, and the time put back, as programs do
   * that copy with times. Closed when the change is no new one any more.
   */
  const save = `time=$(stat -L -c %y /proc/self/fd/3); sleep .02
      printf own >&3; touch -d "$time" /proc/self/fd/3; sleep .03`;
  const script = `for p in f .ctx-*.old; do
      test -f "$p" -a ! -L "$p" || continue
      echo >> ../begun
      (exec 3<> "$p" && { ${save}; }; echo >> ../ended) > /dev/null 2>&1 &
      while test -e /proc/$!/stat && ! grep -q ') [SZ] ' /proc/$!/stat; do :; done
    done`;
  const linesOf = (path: string) => readFileSync(path, 'utf8').length;

  it('finds what they saved in its place or beside it, also where the file had no name any more', async (context) => {
    const killAt = compileKillAt(at('.'));
    if (killAt === undefined) return context.skip(cannotKillAt);
    await trials(
      async (trial) => {
        for (let step = 1, attempt = 1; ; ) {
          trial.begin();
          for (const name of ['begun', 'ended']) writeFileSync(trial.at(name), '');
          const acted = `cd '${trial.at('origin')}'; ${script}`;
          const { code, told } = await trial.run(trial.action, [killAt, `${step}:${acted}`, trial.at('origin')]);
          if (code === notKilled) return assert.ok(step > 1, trial.name);
          await until(() => linesOf(trial.at('ended')) === linesOf(trial.at('begun')), 'all have saved');
          const what = `${trial.name}, step ${step}: ${told.join(' ')}`;
          assert.equal(code, 0, what);
          const aside = told.filter((_, index) => told[index + 1] === 'aside');
          assert.deepEqual(trial.others(), [...aside].sort(), `${what}: nothing else is there`);
          const texts = [...aside.map((path) => seen(trial.at('origin', path))), trial.seen('origin')];
          const kept = texts.join(' ').split('own').length - 1;
          // They are let in for a moment, which a busy machine may not give them.
          if (kept < linesOf(trial.at('begun')) && attempt < 20) {
            attempt += 1;
            continue;
          }
          assert.equal(kept, linesOf(trial.at('begun')), `${what}: ${texts.join()}`);
          step += 1;
          attempt = 1;
        }
      },
      [
        ['old file', 'new file'],
        ['old file', 'link'],
        ['old file', 'nothing'],
      ],
    );
  });
});

describe('an apply that is killed at every step', () => {
  /** What comes after it, and what the entry is then. */
  const afterwards: Readonly<Record<string, (trial: Trial) => Promise<string>>> = {
    'is swept, and done by the next': async (trial) => {
      await trial.run('sweep');
      assert.deepEqual(trial.others(), [], trial.name);
      rmSync(trial.at('kept'), { recursive: true });
      cpSync(trial.at('origin'), trial.at('kept'), { recursive: true, verbatimSymlinks: true });
      const { told } = await trial.run(trial.action);
      assert.deepEqual(told, ['f', 'done'], trial.name);
      return trial.seen('upper');
    },
    'leaves alone what was saved since': async (trial) => {
      rmSync(trial.at('origin/f'), { recursive: true, force: true });
      writeFileSync(trial.at('origin/f'), 'saved');
      await trial.run('sweep');
      const { told } = await trial.run(trial.action);
      assert.deepEqual(told, ['f', 'clash'], trial.name);
      return 'saved';
    },
  };
  for (const [name, act] of Object.entries(afterwards)) {
    it(`${name}, and nothing is beside it`, async (context) => {
      const killAt = compileKillAt(at('.'));
      if (killAt === undefined) return context.skip(cannotKillAt);
      await trials(async (trial) => {
        for (let step = 1, code: number | null = 0; ; step += 1) {
          trial.begin();
          ({ code } = await trial.run(trial.action, [killAt, String(step), trial.at('origin')]));
          if (code === notKilled) return assert.ok(step > 1, trial.name);
          const what = `${trial.name}, step ${step}`;
          // A file is the old one or the new one; a directory comes when the file is away.
          const whole = [trial.seen('upper'), trial.seen('kept'), 'nothing'];
          const isAway = trial.seen('origin') === 'nothing';
          assert.ok(whole.includes(trial.seen('origin')), what);
          assert.ok(!isAway || trial.seen('upper').startsWith('with') || whole.slice(0, 2).includes('nothing'), what);
          const expected = await act(trial);
          assert.equal(trial.seen('origin'), expected, what);
          assert.deepEqual(trial.others(), [], what);
        }
      });
    });
  }
});

describe('an apply that is told to stop at every step', () => {
  it('ends, and nothing is beside the entry, which is the old one or the new one', async (context) => {
    const killAt = compileKillAt(at('.'));
    if (killAt === undefined) return context.skip(cannotKillAt);
    await trials(async (trial) => {
      for (let step = 1; ; step += 1) {
        trial.begin();
        const { code, told } = await trial.run(trial.action, [
          killAt,
          `${step}:kill -TERM $PROGRAM`,
          trial.at('origin'),
        ]);
        const what = `${trial.name}, step ${step}: ${code} ${told.join(' ')}`;
        if (code === notKilled) return assert.ok(step > 1, what);
        assert.equal(code, 128 + constants.signals.SIGTERM, what);
        assert.deepEqual(trial.others(), [], what);
        const now = trial.seen('origin');
        if (told.includes('done')) assert.equal(now, trial.seen('upper'), what);
        const mayBeAway = trial.seen('upper').startsWith('with') && now === 'nothing';
        assert.ok(mayBeAway || [trial.seen('upper'), trial.seen('kept')].includes(now), `${what}: ${now}`);
      }
    }, ofFiles);
  });
});

describe('what root puts into a directory of another user', {
  skip: isRoot ? false : 'only root can be another',
}, () => {
  it('is theirs at every step, and so is all that is beside it', async (context) => {
    const killAt = compileKillAt(at('.'));
    if (killAt === undefined) return context.skip(cannotKillAt);
    const [person, shift] = [4242, 100_000];
    await trials(async (trial) => {
      for (let step = 1; ; step += 1) {
        trial.begin();
        for (const [place, owner] of Object.entries({ origin: person, kept: shift + person, upper: shift + person }))
          for (const path of [trial.at(place), trial.at(place, 'f')])
            if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) lchownSync(path, owner, owner);
        const { dev, ino } = lstatSync(trial.at('origin'));
        const more = ['--shift', String(shift), '--known', `${dev}:${ino}:${trial.at('origin')}`];
        const look = `find '${trial.at('origin')}' ! -user ${person} > '${trial.at('others')}'`;
        const { code } = await trial.run(trial.action, [killAt, `${step}:${look}`, trial.at('origin')], more);
        if (code === notKilled) return;
        assert.equal(code, 0, `${trial.name}, step ${step}`);
        assert.equal(readFileSync(trial.at('others'), 'utf8'), '', `${trial.name}, step ${step}`);
      }
    }, ofFiles);
  });
});
