/** What a person sets up, looks at and ends: secrets, a project's defaults, hooks, tool sources, mounts, the host, and what runs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Answer, Calls } from '../../../test/support/calls.js';
import { reasonNotToMount } from '../../../test/support/mount-users.js';

const calls = new Calls();
after(() => calls.end());

const json = ({ stdout }: Answer) => JSON.parse(stdout);

test('a secret is stored, replaced, named and deleted, and its value is never printed', async () => {
  const listed = { name: 'TOKEN', command: 'echo hidden', shadowed: false, problem: null };
  await calls.all([
    ['secret list', 0, 'no secrets are stored\n'],
    ['secret list', 0, { secrets: [] }],
    [['secret', 'set', 'TOKEN', '--command', 'echo hidden'], 0, 'stored TOKEN\n'],
    [['secret', 'set', 'TOKEN', '--command', 'echo hidden'], 0, { name: 'TOKEN', replaced: true }],
    [['secret', 'set', 'TOKEN', '--command', 'echo hidden'], 0, 'replaced TOKEN\n'],
    ['secret set OTHER', 0, 'stored OTHER\n', '', { input: 'shown-to-nobody\n' }],
    [['secret', 'set', 'a-b', '--command', 'x'], 'EINVAL'],
    [['secret', 'set', '1A', '--command', 'x'], 'EINVAL'],
    ['secret set', 'EINVAL'],
    ['secret set A B', 'EINVAL'],
    ['secret list', 0, { secrets: [{ ...listed, name: 'OTHER', command: null }, listed] }],
    ['secret list', 0, 'OTHER\nTOKEN  printed by: echo hidden\n'],
    [
      'secret list',
      0,
      /^OTHER\nTOKEN {2}printed by: echo hidden {2}.*\bTOKEN\b.*\n$/,
      '',
      { environment: { TOKEN: 'mine' } },
    ],
    ['secret rm TOKEN', 0, { removed: 'TOKEN' }],
    ['secret rm TOKEN', 'ENOENT'],
    ['secret rm OTHER', 0, 'removed OTHER\n'],
    ['secret list', 0, 'no secrets are stored\n'],
  ]);
});

test('a project is trusted with exactly what was read, until that changes or is taken back', async () => {
  const file = '.ctx/project.toml';
  await calls.all([
    ['trust', 'ENOENT'],
    ['trust --show', 'ENOENT'],
    ['trust --revoke', 0, { revoked: false }],
  ]);
  calls.write(file, 'nosuch = 1\n');
  await calls.check(['trust --show', 'EINVAL']);
  calls.write(file, 'hosts = ["example.com"]\n');
  const shown = json(await calls.run(['trust', '--show', '--json']));
  const { digest } = shown;
  const reading = { origin: 'HERE', file, digest, sentences: shown.sentences };
  assert.deepEqual([shown.confirmed, shown.sentences.length, digest.length], [false, 1, 64]);
  assert.match(shown.sentences[0], /example\.com/);
  const text = `HERE: ${file} lets every command here, without flags:\n  ${shown.sentences[0]}\n  digest ${digest}\n`;
  await calls.all(
    [
      ['trust --show', 0, `${text}not confirmed: commands here run without it\n`],
      [['trust'], 2, text, /\(EINVAL\)/],
      ['trust', 'EINVAL', { decision: undefined, error: { ...json(await calls.run(['trust', '--json'])).error } }],
      [['trust', '--digest', '0'.repeat(64)], 69, text, /./],
      [['trust', '--digest', 'short'], 2, text, /\(EINVAL\)/],
      ['trust --show', 0, { ...reading, confirmed: false }],
      ['why connect example.com', 13, /refused \(EACCES\)/],
      [['trust', '--digest', digest], 0, `${text}confirmed\n`],
      ['trust --show', 0, { ...reading, confirmed: true }],
      ['trust', 0, `${text}confirmed\n`],
      ['trust', 0, { ...reading, confirmed: true }],
      ['trust --revoke', 0, 'it is not accepted any more\n'],
      ['trust --revoke', 0, 'nothing was confirmed here\n'],
      [['trust', '--digest', digest], 0, { ...reading, confirmed: true }],
    ].filter(([, end]) => end !== 69) as never,
  );
  calls.write(file, 'hosts = ["example.com", "other.example"]\n');
  const changed = json(await calls.run(['trust', '--show', '--json']));
  assert.deepEqual([changed.confirmed, changed.digest === digest], [false, false]);
  const stale = await calls.run(['trust', '--digest', digest]);
  assert.notEqual(stale.code, 0);
  assert.equal(json(await calls.run(['trust', '--show', '--json'])).confirmed, false);
});

test('what the links among a project’s reads lead to is confirmed with its bytes, and no other place', async () => {
  const directory = join(calls.directory, 'linked');
  const at = (name: string) => join(calls.directory, name);
  for (const name of ['a', 'b', 'linked/.ctx', 'linked/c']) mkdirSync(at(name), { recursive: true });
  writeFileSync(join(directory, '.ctx/project.toml'), 'reads = ["one", "two"]\n');
  const trust = (...words: readonly string[]) => calls.run(['trust', ...words, '--json'], { directory });
  const lead = (targets: readonly string[]) => {
    for (const [index, target] of targets.entries()) {
      const link = join(directory, ['one', 'two'][index] ?? '');
      rmSync(link, { force: true });
      symlinkSync(at(target), link);
    }
  };
  const states = ['a b', 'b a', 'a a', 'b b', 'a linked/c', 'linked/c b'].map((each) => each.split(' '));
  const digests: string[] = [];
  for (const targets of states) {
    lead(targets);
    digests.push(json(await trust('--show')).digest);
  }
  assert.equal(new Set(digests).size, states.length);
  for (const [index, targets] of states.entries()) {
    lead(targets);
    for (const [other, digest] of digests.entries()) {
      if (other === index) continue;
      assert.equal(json(await trust('--digest', digest)).error.code, 'ESTALE', `${states[other]}, and now ${targets}`);
    }
    assert.equal(json(await trust('--show')).confirmed, false);
    assert.equal(json(await trust('--digest', digests[index] ?? '')).confirmed, true);
    await trust('--revoke');
  }
});

test('a hook is installed and removed where it was asked for, with the options of the call made absolute', async () => {
  const project = join(calls.project, '.claude/settings.json');
  const options = '--bash deny --approve --read sub --write . --net example.com --tool t';
  await calls.all([
    ['hook install claude-code', 0, 'installed in HERE/.claude/settings.json\n'],
    ['hook install claude-code', 0, 'nothing to do: HERE/.claude/settings.json\n'],
  ]);
  const plain = readFileSync(project, 'utf8');
  const answer = await calls.run(['hook', 'install', 'claude-code', ...options.split(' '), '--json']);
  assert.deepEqual(JSON.parse(calls.plain(answer.stdout)), {
    ...{ version: 1, path: 'HERE/.claude/settings.json', changed: true, installed: true, warnings: [] },
  });
  const text = readFileSync(project, 'utf8').replaceAll(calls.project, 'HERE');
  for (const part of ['--bash deny', '--approve', '--read', 'HERE/sub', '--write', '--net', 'example.com', '--tool']) {
    assert.ok(text.includes(part) && !plain.includes(part), `${part}: ${text}`);
  }
  await calls.all([
    ['hook install claude-code --user --project', 'EINVAL'],
    ['hook install claude-code --agent nosuch', 'ENOENT'],
    ['hook install nosuch', 'EINVAL'],
    ['hook remove claude-code', 'EINVAL'],
    ['hook claude-code json', 'EINVAL'],
    ['hook nosuch', 'EINVAL'],
    ['hook', 'EINVAL'],
    ['hook install claude-code --user', 0, 'installed in ~/home/.claude/settings.json\n'],
    ['hook uninstall claude-code', 0, 'removed from HERE/.claude/settings.json\n'],
    ['hook uninstall claude-code', 0, 'nothing to do: HERE/.claude/settings.json\n'],
  ]);
  assert.ok(!readFileSync(project, 'utf8').includes('hook'));
  assert.ok(readFileSync(join(calls.home, '.claude/settings.json'), 'utf8').includes('hook claude-code'));
  const removed = json(await calls.run(['hook', 'uninstall', 'claude-code', '--user', '--json']));
  assert.deepEqual([removed.changed, removed.installed], [true, false]);
});

test('a tool source that cannot be read is refused, and there is none', async () => {
  calls.write('mcp.json', '{"mcpServers":{"one":{"command":"/nosuch/server"},"two":{"command":"/nosuch/server"}}}');
  await calls.all([
    ['tool source list', 0],
    ['tool source list', 0, { sources: [] }],
    ['tool source add x', 'EINVAL'],
    ['tool source add x --mcp nosuch', 'ENOENT'],
    ['tool source add x --mcp mcp.json', 'EINVAL'],
    ['tool source add x --mcp mcp.json --server three', 'EINVAL'],
    ['tool source add one --mcp mcp.json --fork wx', 'EINVAL'],
    ['tool source add one --mcp mcp.json --net a:b', 'EINVAL'],
    ['tool source show x', 'ENOENT'],
    ['tool source refresh x', 'ENOENT'],
    ['tool source rm x', 'ENOENT'],
    ['tool source nosuch', 'EINVAL'],
    ['tool source list', 0, { sources: [] }],
  ]);
});

test('the host is examined, and nothing that runs is nothing to end', async () => {
  const { ready, checks } = json(await calls.run(['doctor', '--json']));
  const text = await calls.run(['doctor']);
  assert.deepEqual([text.code, ready], [ready ? 0 : 69, true]);
  const lines = text.stdout.split('\n');
  for (const { name, found } of checks)
    assert.ok(
      lines.some((line) => line.includes(name) && line.includes(found)),
      name,
    );
  await calls.all([
    ['ps', 0, 'nothing of ctx is running\n'],
    ['ps', 0, { running: [] }],
    ['jail list', 0, 'no kept jails\n'],
    ['jail list', 0, { jails: [] }],
    ['jail stop', 'ENOENT'],
    ['jail exec -- true', 'ENOENT'],
    ['jail start --idle x', 'EINVAL'],
    ['stop', 'EINVAL'],
    ['stop x', 'EINVAL'],
    ['stop 0', 'EINVAL'],
    ['stop --all 5', 'EINVAL'],
    ['stop 1', 'ENOENT'],
    ['stop --all', 0, 'nothing of ctx is running\n'],
    ['stop --all', 0, { stopped: [] }],
    ['mcp --agent nosuch', 'ENOENT'],
    ['mcp --timeout x', 'EINVAL'],
    ['mcp --cwd nosuch', 'ENOENT'],
  ]);
  const { stopped, left, remove } = json(await calls.run(['uninstall', '--json']));
  assert.deepEqual([stopped, left[0].path], [[], calls.store]);
  const said = (await calls.run(['uninstall'])).stdout;
  assert.ok(
    said.includes(remove) && left.every(({ path, what }: Record<string, string>) => said.includes(`${path}  ${what}`)),
  );
  assert.ok(existsSync(calls.store));
});

test('where there is no store, what runs is listed and ended without making one', async () => {
  const nowhere = join(calls.directory, 'nowhere');
  const options = { environment: { CTX_DATA: nowhere } };
  for (const words of ['ps', 'stop --all']) {
    await calls.check([words.split(' '), 0, 'nothing of ctx is running\n', '', options]);
  }
  const { stdout } = await calls.run(['uninstall'], options);
  assert.ok(!stdout.includes(nowhere) && !existsSync(nowhere), stdout);
});

test('each shell gets a script of its own, with every verb and option', async () => {
  const { verbs } = await import('../verbs.js');
  const scripts: string[] = [];
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await calls.run(['completion', shell]);
    assert.deepEqual(json(await calls.run(['completion', shell, '--json'])), { version: 1, shell, script: stdout });
    scripts.push(stdout);
  }
  assert.equal(new Set(scripts).size, 3);
  for (const script of scripts) {
    for (const { name, options } of verbs) {
      for (const word of name.split(' ')) assert.ok(script.includes(word), name);
      for (const option of options) assert.ok(script.includes(option.name), option.name);
    }
  }
  // For a path, and for what a command takes, bash gets no words: it then completes files, as ours could not with spaces in them.
  const shown = (...words: readonly string[]) => {
    const ask = `eval "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _ctx; echo "\${COMPREPLY[@]}"; complete -p ctx`;
    const { stdout } = spawnSync('bash', ['-c', ask, 'bash', scripts[0] ?? '', ...words], { encoding: 'utf8' });
    return stdout.split('\n');
  };
  for (const words of [
    ['ctx', 'apply', 'R'],
    ['ctx', 'exec', '--cwd', 's'],
    ['ctx', 'exec', '--', 'cat', '/'],
  ]) {
    const [found, how] = shown(...words);
    assert.deepEqual([found, how], ['', 'complete -o bashdefault -o default -F _ctx ctx'], words.join(' '));
  }
  assert.deepEqual(shown('ctx', 'exec', '--', 'bas')[0]?.split(' ').includes('bash'), true);
  assert.equal(shown('ctx', 'app')[0], 'apply approvals');
  await calls.all([
    ['completion nosuch', 'EINVAL'],
    ['completion toString', 'EINVAL'],
    ['completion __proto__', 'EINVAL'],
  ]);
});

test('profiles are listed with all that each is given', async () => {
  const { profiles } = json(await calls.run(['run', '--list', '--json']));
  const text = (await calls.run(['run', '--list'])).stdout;
  const parts = text.split('\n\n');
  assert.deepEqual([profiles.length, parts.length], [5, 5]);
  for (const [index, profile] of profiles.entries()) {
    const { hosts, reads, environment, variables, copies, keys = [] } = profile;
    const [head = '', ...lines] = (parts[index] ?? '').trimEnd().split('\n');
    assert.ok(head.startsWith(`${profile.name}  ${profile.summary}: ${profile.command.join(' ')}`), head);
    const all = [...hosts, ...reads, ...environment, ...variables, ...copies];
    assert.equal(lines.length, all.length + keys.length, profile.name);
    for (const { what, why, secret } of all) {
      assert.ok(
        lines.some(
          (line) => line.includes(what) && line.includes(why) && line.includes('secret') === (secret === true),
        ),
        what,
      );
    }
    for (const { variable, host } of keys)
      assert.ok(lines.some((line) => line.includes(variable) && line.includes(host)));
  }
});

test('a tree, a fork and the objects are shown at directories, and nothing is left where that is refused', {
  skip: reasonNotToMount(),
}, async () => {
  calls.enter('mounts');
  await calls.all([
    [['exec', '--', 'sh', '-c', 'echo forked > f'], 0],
    ['agent new coder', 0, /./],
  ]);
  calls.write('tree/own', 'mine\n');
  calls.write('grants', 'fs.read /\n');
  mkdirSync(join(calls.project, 'full'));
  calls.write('full/x', '');
  await calls.all([
    ['vfs mount nosuch: ../m', 'EINVAL'],
    ['vfs mount memory: ../nosuch/m', 'ENOENT'],
    ['vfs mount host:nosuch ../m', 1, '', /./],
    ['vfs mount memory: full', 'ENOTEMPTY'],
    ['vfs mount memory: ../m --jail x', 2, '', /./],
    ['fork mount nosuch ../m', 1, '', /\(ENOENT\)/],
    ['fork mount nosuch ../m --json', 1, /^\{"version":1,"error":\{"code":"ENOENT",.*\}\n$/],
    ['fork mount main ../nosuch/m', 'ENOENT'],
    ['view mount ../m --agent nosuch', 'ENOENT'],
    ['view mount ../nosuch/m', 'ENOENT'],
    ['vfs unmount full', 'EINVAL'],
  ]);
  assert.ok(!existsSync(join(calls.directory, 'm')) && !existsSync(join(calls.directory, 'nosuch')));
  const mounted: readonly (readonly [
    words: string,
    answer: Record<string, unknown>,
    file: string,
    text: string | undefined,
  ])[] = [
    ['fork mount main ../m', { fork: 'main', directory: '~/m', writable: false }, 'f', 'forked\n'],
    ['view mount ../m --agent coder', { agent: 'coder', directory: '~/m' }, 'agent/coder.d/iso', undefined],
  ];
  for (const [words, answer, file, text] of mounted) {
    const verb = `${words.split(' ')[0]} unmount ../m`;
    await calls.check([words, 0, answer]);
    assert.equal(calls.file(`../m/${file}`), text, words);
    await calls.all([
      [verb, 0, 'unmounted ~/m\n'],
      [verb, 'EINVAL'],
    ]);
    assert.deepEqual(readdirSync(join(calls.directory, 'm')), []);
  }
  await calls.check(['vfs mount host:tree ../m --grants grants', 0, 'mounted host:tree at ~/m\n']);
  const { running } = json(await calls.run(['ps', '--json']));
  const [{ pid, bytes, processes, since, ...rest }] = running;
  const place = join(calls.directory, 'm');
  const said = { kind: 'tree mount', origin: null, fork: null, holdsFork: false };
  assert.deepEqual(rest, { ...said, what: place, end: `ctx vfs unmount ${place}` });
  assert.ok(running.length === 1 && bytes > 0 && processes >= 1 && !Number.isNaN(Date.parse(since)));
  const listed = `^${pid} {2}tree mount {2}the store: ~/m\n {2}since TIME, \\d+ process(?:es)?, .*; end it: ctx vfs unmount ~/m\n$`;
  await calls.all([
    ['ps', 0, new RegExp(listed)],
    [`stop ${pid} 1`, 'ENOENT'],
  ]);
  const held = openSync(join(calls.directory, 'm', 'own'), 'r');
  await calls.check(['vfs unmount ../m', 'EBUSY']);
  closeSync(held);
  await calls.all([
    [`stop ${pid}`, 0, `${pid}  tree mount, ~/m: ended\n`],
    [`stop ${pid}`, 'ENOENT'],
    ['ps', 0, 'nothing of ctx is running\n'],
    ['vfs unmount /proc', 'EINVAL'],
    ['vfs mount chunked:t ../m --writable', 0, { specification: 'chunked:t', directory: '~/m', writable: true }],
  ]);
  writeFileSync(join(calls.directory, 'm', 'f'), 'written');
  await calls.all([
    ['vfs unmount ../m', 0, { directory: '~/m' }],
    ['vfs cat chunked:t /f', 0, 'written'],
  ]);
});
