/**
 * Build tools on both sides of an apply: what they build is what the sources say, after apply, undo and rollback, however the
 * building and the editing fell together. `npm test` has a compiler behind make; `npm run soak` every tool that is there.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser, spawnIdentity, type TestUser } from '../support/users.js';
import { type BuildTool, buildTools } from './build-tools.js';

const isSoak = process.env['CTX_SOAK'] === '1';

function missing(user: TestUser, { needs, only, environment }: BuildTool, stage: Stage): string | undefined {
  if (only !== undefined && user.uid !== 0) return `its toolchain is in the home of ${only}`;
  const env = { ...stage.environment, ...environment };
  const absent = needs.find((need) =>
    need.startsWith('/')
      ? !existsSync(need)
      : spawnSync('sh', ['-c', `command -v ${need}`], { env, ...spawnIdentity(user) }).status !== 0,
  );
  return absent === undefined ? undefined : `there is no ${absent} here for ${user.name}`;
}

class Building {
  readonly #project: string;
  readonly #exports: string;

  constructor(
    readonly stage: Stage,
    readonly tool: BuildTool,
  ) {
    this.#exports = Object.entries(tool.environment ?? {})
      .map(([name, value]) => `export ${name}='${value}'; `)
      .join('');
    this.#project = stage.project(`${tool.before}\n${this.edit(0, 'a')}\n${this.edit(1, 'b')}`);
  }

  edit(which: 0 | 1, word: string): string {
    const { sources, text } = this.tool;
    return `cat > ${sources[which]} <<'END'\n${text(which, word)}\nEND`;
  }

  outside(script = this.tool.build): string {
    return this.stage.shell(this.#project, `${this.#exports}${script}`);
  }

  async inside(script = this.tool.build): Promise<string> {
    const options = this.tool.options ?? [];
    const words = ['exec', '--json', '--wait', ...options, '--', 'sh', '-c', `${this.#exports}${script}`];
    const { stdout, stderr } = await this.stage.ctx(this.#project, words, { timeoutSeconds: 600 });
    const envelope = JSON.parse(stdout);
    assert.equal(envelope.exitCode, 0, `${script}\n${envelope.stdout?.text}${envelope.stderr?.text}${stderr}`);
    return envelope.stdout.text;
  }

  async verb(...words: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await this.stage.ctx(this.#project, [...words, '--json']);
    assert.equal(code, 0, `ctx ${words.join(' ')}: ${stdout}${stderr}`);
  }
}

forEachUser(
  (user) => {
    const stage = useWarmStage(user);
    for (const tool of buildTools.filter(({ name }) => name.includes(process.env['CTX_FLOW'] ?? ''))) {
      if (!isSoak && tool.quick !== true) continue;
      test(`${tool.name}: what is built is what the sources say, on both sides`, async (context) => {
        const reason = missing(user, tool, stage);
        if (reason !== undefined) return context.skip(reason);
        const both = new Building(stage, tool);
        assert.equal(both.outside(), 'a\nb\n');
        // An edit of the fork, and a build of the person's in between.
        await both.inside(both.edit(0, 'fork'));
        assert.equal(both.outside(`${both.edit(1, 'person')}\n${tool.build}`), 'a\nperson\n');
        assert.equal(await both.inside(), 'fork\nperson\n');
        await both.verb('apply');
        assert.equal(both.outside(), 'fork\nperson\n');
        // Built inside, edited outside before it comes home.
        await both.inside(`${both.edit(0, 'second')}\n${tool.build}`);
        both.outside(both.edit(1, 'again'));
        await both.verb('apply');
        await both.verb('apply', '--undo');
        assert.equal(both.outside(), 'fork\nagain\n');
        assert.equal(await both.inside(), 'second\nagain\n');
        await both.verb('apply', '--conflicts', 'theirs');
        assert.equal(both.outside(), 'second\nagain\n');
        await both.inside(both.edit(0, 'third'));
        await both.inside();
        await both.verb('rollback');
        await both.verb('rollback');
        assert.equal(await both.inside(), 'second\nagain\n');
        await both.verb('drop');
        assert.equal(await both.inside(), 'second\nagain\n');
      });
    }
  },
  // Outside, flows use names in /tmp.
  { concurrency: 2, inTurn: true },
);
