/** Tools from any language: bash, python, node and C list them, read their schemas, and call each in both forms. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { builtInTools } from '../../src/objects/built-in-tools.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { reasonToSkip } from '../support/fuse-in-jail.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** What each is called with; all of these succeed, and as often as they are called. */
const inputs: Readonly<Record<string, unknown>> = {
  'fs.read': { path: 'file' },
  'fs.list': { path: '.' },
  'fs.stat': { path: 'file' },
  'fs.write': { path: 'written', content: 'x\n' },
  'fs.replace': { path: 'turn', old: 't', new: 't' },
  'fs.search': { pattern: 'one' },
  'shell.exec': { cmd: 'true' },
  'fork.diff': {},
};
const names = builtInTools.map(({ name }) => name).filter((name) => name in inputs);

const bash = `
for schema in /ctx/tool/*.d/schema; do name=$(basename "$(dirname "$schema")" .d); [ -n "$(cat "$schema")" ] && echo "$name schema"; done
while IFS='	' read -r name input; do
  /ctx/tool/$name "$input" > /dev/null; echo "$name argument $?"
  printf %s "$input" | /ctx/tool/$name > /dev/null; echo "$name stdin $?"
done < calls
`;
const python = `
import json, os, subprocess
for entry in sorted(os.listdir('/ctx/tool')):
    if entry.endswith('.d') and 'input' in json.load(open('/ctx/tool/' + entry + '/schema')): print(entry[:-2], 'schema')
for line in open('calls'):
    name, given = line.rstrip('\\n').split('\\t')
    print(name, 'argument', subprocess.run(['/ctx/tool/' + name, given], stdout=subprocess.DEVNULL).returncode)
    print(name, 'stdin', subprocess.run(['/ctx/tool/' + name], input=given.encode(), stdout=subprocess.DEVNULL).returncode)
`;
const node = `
const fs = require('fs'), { spawnSync } = require('child_process');
for (const entry of fs.readdirSync('/ctx/tool').sort())
  if (entry.endsWith('.d') && 'input' in JSON.parse(fs.readFileSync('/ctx/tool/' + entry + '/schema'))) console.log(entry.slice(0, -2), 'schema');
for (const line of fs.readFileSync('calls', 'utf8').trimEnd().split('\\n')) {
  const [name, given] = line.split('\\t');
  console.log(name, 'argument', spawnSync('/ctx/tool/' + name, [given]).status);
  console.log(name, 'stdin', spawnSync('/ctx/tool/' + name, { input: given }).status);
}
`;
const c = `
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int run(const char *name, const char *given, int by_stdin) {
  char path[300];
  snprintf(path, sizeof path, "/ctx/tool/%s", name);
  int ends[2], status;
  if (pipe(ends)) return -1;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0), close(ends[1]);
    if (!freopen("/dev/null", "w", stdout)) _exit(99);
    execl(path, path, by_stdin ? NULL : given, NULL);
    _exit(98);
  }
  if (by_stdin && write(ends[1], given, strlen(given)) < 0) return -1;
  close(ends[0]), close(ends[1]), waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
int main(void) {
  struct dirent **found;
  int count = scandir("/ctx/tool", &found, NULL, alphasort);
  setlinebuf(stdout);
  for (int each = 0; each < count; each++) {
    char *name = found[each]->d_name, path[600], text[9000] = "", *end = strrchr(name, '.');
    if (!end || strcmp(end, ".d")) continue;
    snprintf(path, sizeof path, "/ctx/tool/%s/schema", name);
    FILE *schema = fopen(path, "r");
    if (schema && fread(text, 1, sizeof text - 1, schema) && strstr(text, "\\"input\\"")) printf("%.*s schema\\n", (int)(end - name), name);
  }
  char line[9000];
  FILE *calls = fopen("calls", "r");
  while (fgets(line, sizeof line, calls)) {
    char *given = strchr(line, '\\t');
    *given++ = 0, given[strcspn(given, "\\n")] = 0;
    printf("%s argument %d\\n", line, run(line, given, 0));
    printf("%s stdin %d\\n", line, run(line, given, 1));
  }
}
`;

const wanted = [
  ...[...names].sort().map((name) => `${name} schema`),
  ...names.flatMap((name) => [`${name} argument 0`, `${name} stdin 0`]),
];

forEitherUser((user) => {
  const skip = reasonToSkip(user);
  describe('tools from any language', skip === undefined ? { concurrency: 1 } : { skip }, () => {
    const stage = useWarmStage(user);

    test('each lists them, reads their schemas and calls all of them; and a thousand calls in one jail', async (t) => {
      const project = stage.project('echo one > file; echo t > turn');
      const sources = { 'calls.sh': bash, 'calls.py': python, 'calls.cjs': node };
      for (const [name, text] of Object.entries(sources)) writeFileSync(join(project, name), text);
      writeFileSync(join(project, 'calls'), names.map((name) => `${name}\t${JSON.stringify(inputs[name])}\n`).join(''));
      const compiled = spawnSync('gcc', ['-x', 'c', '-o', join(project, 'calls.bin'), '-'], { input: c });
      const programs: Readonly<Record<string, readonly string[]>> = {
        bash: ['bash', 'calls.sh'],
        python: ['python3', 'calls.py'],
        node: ['node', 'calls.cjs'],
        C: ['./calls.bin'],
      };
      const there = Object.entries(programs).filter(([name]) =>
        name === 'C'
          ? compiled.status === 0
          : spawnSync(name === 'python' ? 'python3' : name, ['--version']).status === 0,
      );
      t.diagnostic(`languages: ${there.map(([name]) => name).join(', ')}`);
      const policy = names.map((name) => `allow speaker_t tool:${name} execute\n`).join('');
      for (const words of [
        ['agent', 'new', 'speaker'],
        ['agent', 'set', 'speaker', 'policy', policy],
        ['jail', 'start', '--agent', 'speaker'],
      ]) {
        const { code, stderr } = await stage.ctx(project, words);
        assert.equal(code, 0, stderr);
      }
      try {
        for (const [language, argv] of there) {
          const { stdout, stderr } = await stage.ctx(project, ['jail', 'exec', '--json', '--', ...argv]);
          const report = parseJson(stdout, stderr) as Envelope;
          assert.deepEqual(
            (report.stdout?.text ?? '').trim().split('\n'),
            wanted,
            `${language}: ${report.stderr?.text}`,
          );
        }
        const before = recordsOf(stage.store).length;
        const thousand = `for n in $(seq 250); do
          /ctx/tool/fs.read '{"path":"file"}'; echo '{"path":"file"}' | /ctx/tool/fs.stat
          /ctx/tool/fs.list '{}' | grep -c name; /ctx/tool/fs.write "{\\"path\\":\\"n\\",\\"content\\":\\"$n\\"}" || echo failed
        done | sort | uniq -c | wc -l; cat n`;
        const { stdout, stderr } = await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', thousand]);
        assert.equal(stdout, '4\n250', stderr);
        const calls = recordsOf(stage.store)
          .slice(before)
          .filter(({ type }) => type === 'tool.call');
        assert.deepEqual(
          ['begin', 'ok'].map((status) => calls.filter((each) => each.status === status).length),
          [1_000, 1_000],
        );
      } finally {
        await stage.ctx(project, ['jail', 'stop']);
      }
    });
  });
});
