/** The streams of a hook's process, in one of its own. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { it } from 'node:test';

const streams = JSON.stringify(new URL('./streams.js', import.meta.url).href);
const script = (text: string) => [
  '--input-type=module',
  '-e',
  `const { processStreams } = await import(${streams}); ${text}`,
];

it('what is said goes out harmless: an answer stays the same value, a reason is for people to read', () => {
  const answer = '{"a":"\\u001b[2J\u009b"}\n';
  const reason = 'one \u001b[2J two\n';
  const said = `
    const said = [
      processStreams.say('stdout', ${JSON.stringify(answer)}),
      processStreams.say('stderr', ${JSON.stringify(reason)}),
    ];
    if (said.join() !== 'true,true') process.exit(3);`;
  const { stdout, stderr, status } = spawnSync(process.execPath, script(said), { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.deepEqual(JSON.parse(stdout), JSON.parse(answer));
  assert.match(stderr, /^one .*two\n$/);
  for (const out of [stdout, stderr])
    assert.ok(!out.includes('\u001b') && !out.includes('\u009b'), JSON.stringify(out));
});

it('a reader that is gone is told from one that is there, and an end does not wait for what still does', () => {
  // Nothing reads behind a closed descriptor.
  const closed = `(await import('node:fs')).closeSync(1);
    const said = ['stdout', 'stderr'].map((stream) => processStreams.say(stream, '{}'));
    if (said.join() !== 'false,true') process.exit(3);
    setInterval(() => undefined, 1000);
    processStreams.endNow();`;
  const { signal, status } = spawnSync(process.execPath, script(closed), { timeout: 60_000, killSignal: 'SIGTERM' });
  assert.deepEqual([signal, status], ['SIGKILL', null]);
});

it('a message is read in the pieces that it comes in, to its end', async () => {
  const read = `
    const pieces = [];
    for (;;) {
      const piece = await processStreams.next();
      if (piece.length === 0) break;
      pieces.push(piece.toString());
      processStreams.say('stdout', JSON.stringify(piece.toString()));
    }`;
  const child = spawn(process.execPath, script(read), { stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  const heard = (async () => {
    child.stdin.write('one');
    for await (const chunk of child.stdout) {
      said += String(chunk);
      if (said === '"one"') child.stdin.end('two');
    }
  })();
  const code = await new Promise((resolve) => child.once('close', resolve));
  await heard;
  assert.deepEqual([code, said], [0, '"one""two"']);
});
