/** Launches in the directories that it is given, one after the other in each, side by side in all: node main.js LAUNCHES STORE DIRECTORY... */
import assert from 'node:assert/strict';
import { open } from 'ctxfs';

const [launches = '', data = '', ...directories] = process.argv.slice(2);

async function launchIn(directory: string): Promise<void> {
  const workspace = await open({ directory, data });
  try {
    for (let launch = 0; launch < Number(launches); launch += 1) {
      const { exitCode, stderr } = await workspace.exec(['test', '!', '-e', '../secret'], { streams: 'capture' });
      assert.equal(exitCode, 0, `launch ${launch} in ${directory}: ${stderr?.text}`);
    }
  } finally {
    await workspace.close();
  }
}

await Promise.all(directories.map(launchIn));
