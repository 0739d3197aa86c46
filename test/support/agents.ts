/** Agents of a test: made with their rules, and commands that run for them. */
import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import type { Envelope } from '../../src/sdk/report.js';
import { parseJson, type Stage } from './stage.js';

/** Why views cannot be shown here. */
export const withoutViews = (() => {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return false as const;
  } catch {
    return '/dev/fuse cannot be opened here';
  }
})();

/** What a call of ctx printed, which has to succeed. */
export async function ok(stage: Stage, cwd: string, words: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words, input === undefined ? {} : { input });
  assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

export async function fails(stage: Stage, cwd: string, code: number, pattern: RegExp, words: readonly string[]) {
  const ended = await stage.ctx(cwd, words);
  assert.match(ended.stderr, pattern);
  assert.equal(ended.code, code, ended.stderr);
}

/** The report of a script that runs for an agent. */
export async function exec(stage: Stage, cwd: string, agent: string, script: string): Promise<Envelope> {
  const { stdout, stderr } = await stage.ctx(cwd, ['exec', '--json', '--agent', agent, '--', 'sh', '-c', script]);
  return parseJson(stdout, stderr) as Envelope;
}

/** Rules as in `tool:fs.read execute`. */
export async function agentWith(stage: Stage, cwd: string, name: string, ...rules: readonly string[]): Promise<void> {
  await ok(stage, cwd, ['agent', 'new', name]);
  await ok(stage, cwd, ['agent', 'set', name, 'policy', rules.map((rule) => `allow ${name}_t ${rule}\n`).join('')]);
}

/** The rules of an agent that may call these tools. */
export const executes = (...tools: readonly string[]): string[] => tools.map((name) => `tool:${name} execute`);
