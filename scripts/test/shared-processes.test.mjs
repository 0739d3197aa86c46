import assert from 'node:assert/strict';
import { it } from 'node:test';
import { canShare } from './shared-processes.mjs';

const modules = {
  '/pure.js': "import { readFileSync } from 'node:fs';\nexport const pure = 1;\n",
  '/starts.js': "import { spawn } from 'node:child_process';\n",
  '/fixture.js': "import { after } from 'node:test';\nafter(() => undefined);\n",
  '/far.js': "export * from './near.js';\n",
  '/near.js': "export * from './far.js';\nconst late = () => import('./starts.js');\n",
};

it('a test file shares its process where nothing that it imports starts a process, and it changes nothing of its own', () => {
  const shares = (text) => canShare('/x.test.js', (path) => (path === '/x.test.js' ? text : modules[path]));
  assert.ok(shares("import { pure } from './pure.js';\n"));
  for (const text of [
    "import './starts.js';\n",
    "import { far } from './far.js';\n",
    "import './fixture.js';\n",
    "import net from 'node:net';\n",
    "process.env.HOME = '/';\n",
    'after(() => undefined);\n',
    'mock.timers.enable();\n',
  ])
    assert.ok(!shares(text), text);
});
