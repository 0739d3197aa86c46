/** One line of sight: a request to run a command goes through each room once, downwards, and through few frames. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkout } from '../support/program.js';
import { useStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const sources = pathToFileURL(join(checkout, 'dist/js/src/')).href;

/**
 * `ctx exec`, by the sources as they are compiled, before they are bundled: where the jail program is about to be started, says by which
 * frames. V8 follows a promise to the function that awaits it; one that hands it on without waiting would not be seen, so each waits.
 */
const spy = `
Error.stackTraceLimit = 200;
const { run } = await import(${JSON.stringify(`${sources}main-exec.js`)});
const { writeFileSync } = await import('node:fs');
const load = process.dlopen;
process.dlopen = (module, ...rest) => {
  load.call(process, module, ...rest);
  const { start } = module.exports;
  if (start === undefined) return;
  const watched = (program, ...words) => {
    if (program.endsWith('/jail')) writeFileSync(process.argv[1], new Error().stack);
    return start(program, ...words);
  };
  module.exports = { ...module.exports, start: watched };
};
process.exitCode = await run(['exec', '--', '/bin/sh', '-c', 'echo done > made']);`;

/** From the entry downwards. `Starter.start` is the start of the program itself. */
const expected = [
  'cli/call-verb callVerb',
  'cli/exec/exec run',
  'sdk/workspace/command execIn',
  'proxy/execute execute',
  'proxy/run/run-on-target runOnTarget',
  'proxy/run/run runInJail',
  'jail/launch-at-once launchAtOnce',
  'base/starter Starter.start',
];

function framesOf(stack: string): readonly string[] {
  const ours = [...stack.matchAll(/at (?:async )?(?:(\S+) )?\(?(file:[^)\s]+\.js):\d+:\d+/g)];
  return ours
    .filter(([, , file = '']) => file.startsWith(sources))
    .map(([, name = '(no name)', file = '']) => `${file.slice(sources.length, -'.js'.length)} ${name}`)
    .reverse();
}

asOneUser((user) => {
  const stage = useStage(user);

  test('a request goes through each room once on its way to the jail, in eight frames', () => {
    const project = stage.project();
    const stack = join(stage.directory, 'stack');
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', spy, stack], {
      cwd: project,
      env: stage.environment,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    const frames = framesOf(readFileSync(stack, 'utf8'));
    assert.deepEqual(frames, expected);
    // The last is the start itself; main-exec, the first, hands the call on.
    assert.equal(['main-exec run', ...frames.slice(0, -1)].length, 8);
    const rooms = frames.map((frame) => frame.replace(/\/[^/]*$/, ''));
    const entered = rooms.filter((room, index) => room !== rooms[index - 1]);
    assert.equal(new Set(entered).size, entered.length, `each room once: ${entered.join(', ')}`);
  });
});
