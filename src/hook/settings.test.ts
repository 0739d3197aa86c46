import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it, mock } from 'node:test';
import fc from 'fast-check';
import { hookSettingsBytes } from '../base/limits/decisions.js';
import { changeSettings } from './settings-file.js';
import { hasOtherHooks, hookCommand, installed, uninstalled } from './settings-text.js';

const command = hookCommand("/opt/it's here/bin/ctx", ['--bash', 'deny', '--read', '/a b']);
const install = (text: string | undefined) => installed(text, command, 'settings.json');
const uninstall = (text: string) => uninstalled(text, 'settings.json');

const others = `{
  "permissions": { "allow": [ "Bash(ls)" ], "big": 12345678901234567890, "deny": [] },
  "10": 1, "2": 2,
  "hooks": {
    "PostToolUse": [{"matcher":"Edit","hooks":[{"type":"command","command":"fmt"}]}],
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [{ "type": "command", "command": "mine.sh" }]
      }
    ]
  }
}
`;

describe('the hook in a settings text', () => {
  it('is quoted, and turns every failure into the exit code that blocks', () => {
    const ask = "'/opt/it'\\''s here/bin/ctx' hook claude-code --bash deny --read '/a b'";
    assert.equal(
      command,
      `answer=$(timeout -s KILL 30 ${ask}) && [ -n "$answer" ] && printf '%s\\n' "$answer" || exit 2`,
    );
  });

  it('is added without touching anything else', () => {
    const text = install(others);
    const entry = JSON.stringify({ matcher: '*', hooks: [{ type: 'command', command }] });
    assert.equal(text.replace(`,\n      ${entry}`, ''), others);
    assert.equal(JSON.parse(text).hooks.PreToolUse.length, 2);
    assert.ok(text.includes('12345678901234567890'));
  });

  it('is there once, however often it is installed', () => {
    const once = install(others);
    assert.equal(install(once), once);
    const changed = installed(once, hookCommand('/elsewhere/ctx', []), 'settings.json');
    assert.equal(JSON.parse(changed).hooks.PreToolUse.length, 2);
    assert.match(changed, /'\/elsewhere\/ctx' hook/);
    assert.doesNotMatch(changed, /it'/);
  });

  it('makes what is missing around it', () => {
    for (const text of [
      undefined,
      '{}',
      ' { } ',
      '{"hooks":{}}',
      '{"hooks":{"PreToolUse":[]}}',
      '{"a":1}',
      '{\n  "a": 1\n}\n',
    ]) {
      const made = JSON.parse(install(text));
      assert.equal(made.hooks.PreToolUse[0].hooks[0].command, command);
      assert.equal(made.hooks.PreToolUse[0].matcher, '*');
      assert.equal(made.a, text?.includes('"a"') ? 1 : undefined);
    }
  });

  it('is removed, and what was there before is there again', () => {
    for (const text of ['{}', '{"a":1}', '{\n  "a": 1\n}\n', others, '{"hooks":{"Stop":[]},"z":1}']) {
      assert.deepEqual(JSON.parse(uninstall(install(text))), JSON.parse(text), text);
    }
    assert.equal(uninstall(install(others)), others);
    assert.equal(uninstall(others), others);
  });

  it('replaces the form that it once had', () => {
    const once = "'/opt/ctxfs/bin/ctx' hook claude-code --bash deny || exit 2";
    const text = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: once }] }] } });
    assert.equal(JSON.parse(install(text)).hooks.PreToolUse[0].hooks[0].command, command);
  });

  it('is removed from among the hooks of one entry', () => {
    const own = { type: 'command', command };
    const mine = { type: 'command', command: 'mine.sh' };
    for (const hooks of [
      [own, mine],
      [mine, own],
      [own, mine, own],
    ]) {
      const text = JSON.stringify({ hooks: { PreToolUse: [{ matcher: '*', hooks }] } });
      assert.deepEqual(JSON.parse(uninstall(text)).hooks.PreToolUse, [{ matcher: '*', hooks: [mine] }]);
    }
  });

  it('is made whole where it is not for every tool, or not a command', () => {
    const whole = JSON.parse(install('{}'));
    const [{ hooks, ...entry }] = whole.hooks.PreToolUse;
    const [hook] = hooks;
    const { matcher: _matcher, ...unmatched } = entry;
    for (const other of [
      { ...entry, matcher: 'Bash', hooks },
      { ...unmatched, hooks },
      { ...entry, matcher: 7, hooks },
      { ...entry, hooks: [{ ...hook, type: 'prompt' }] },
      { ...entry, hooks: [{ command: hook.command }] },
      { ...entry, hooks: [hook, hook] },
    ]) {
      const made = install(JSON.stringify({ hooks: { PreToolUse: [other] } }));
      assert.deepEqual(JSON.parse(made), whole, JSON.stringify(other));
    }
    assert.throws(() => installed('[]', 'x', '/settings.json'), { code: 'EINVAL', path: '/settings.json' });
  });

  it('is not taken for somebody else’s', () => {
    for (const other of [
      "'/opt/ctx' hook claude-code",
      'ctx hook claude-code || exit 2',
      "'/opt/ctx' hook json || exit 2",
      "'/opt/myctx' hook claude-code || exit 2",
    ]) {
      const text = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: other }] }] } });
      assert.equal(uninstall(text), text, other);
      assert.equal(hasOtherHooks(text, ''), true);
    }
    assert.equal(hasOtherHooks(install('{}'), ''), false);
    const [own] = JSON.parse(install('{}')).hooks.PreToolUse;
    const other = { hooks: [{ type: 'command', command: 'other' }] };
    const has = (...entries: readonly object[]) =>
      hasOtherHooks(JSON.stringify({ hooks: { PreToolUse: entries } }), '');
    assert.deepEqual(
      [has(own), has(other), has(own, other), has(other, own), has({}, own)],
      [false, true, true, true, false],
    );
    assert.equal(has({ ...own, hooks: [...own.hooks, ...other.hooks] }), true);
  });

  it('keeps all other members in any settings', () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2, 4, '\t'), (settings, indent) => {
        const { hooks: _hooks, ...rest } = settings;
        const text = JSON.stringify(rest, undefined, indent);
        const made = install(text);
        assert.deepEqual({ ...JSON.parse(made), hooks: undefined }, { ...JSON.parse(text), hooks: undefined });
        assert.equal(JSON.parse(made).hooks.PreToolUse.length, 1);
        assert.equal(install(made), made);
        assert.deepEqual(JSON.parse(uninstall(made)), JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a text that is not what it should be', () => {
    for (const text of [
      '',
      '{',
      '[]',
      'null',
      '{"a":1,"a":2}',
      '{"hooks":[]}',
      '{"hooks":{"PreToolUse":{}}}',
      '{} x',
      '{,}',
      '// c\n{}',
    ]) {
      assert.throws(() => install(text), { code: 'EINVAL' }, text);
      assert.throws(() => uninstall(text), { code: 'EINVAL' }, text);
    }
  });
});

describe('a settings file', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-settings-')));
  after(() => rmSync(root, { recursive: true }));
  let count = 0;
  const project = () => {
    const path = join(root, `p${count++}`);
    mkdirSync(join(path, '.claude'), { recursive: true });
    return { path: join(path, '.claude', 'settings.json'), within: path };
  };

  it('is made where there is none, with its directory', () => {
    const within = join(root, 'fresh');
    mkdirSync(within);
    const { changed, path } = changeSettings({ path: join(within, '.claude', 'settings.json'), within }, install);
    assert.equal(changed, true);
    assert.deepEqual(readdirSync(join(within, '.claude')), ['settings.json']);
    assert.equal(readFileSync(path, 'utf8'), install(undefined));
  });

  it('that is new can be read by others as far as the person lets new files be read, and leaves nothing open', () => {
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (const mask of [0o022, 0o077, 0o002]) {
      const place = project();
      const old = process.umask(mask);
      try {
        changeSettings(place, install);
      } finally {
        process.umask(old);
      }
      assert.equal(statSync(place.path).mode & 0o7777, 0o644 & ~mask);
    }
    assert.equal(open(), before);
  });

  it('keeps its owner where root changes it', {
    skip: process.getuid?.() !== 0 && 'only root gives files away',
  }, () => {
    const place = project();
    writeFileSync(place.path, others);
    chownSync(place.path, 1234, 2345);
    changeSettings(place, install);
    const { uid, gid } = statSync(place.path);
    assert.deepEqual([uid, gid], [1234, 2345]);
  });

  it('is its directory owner’s where root makes it, with the directories that it needs', {
    skip: process.getuid?.() !== 0 && 'only root gives files away',
  }, () => {
    const within = join(root, 'theirs');
    mkdirSync(within);
    chownSync(within, 1234, 2345);
    changeSettings({ path: join(within, 'one', 'two', 'settings.json'), within }, install);
    for (const path of ['one', 'one/two', 'one/two/settings.json']) {
      const { uid, gid } = statSync(join(within, path));
      assert.deepEqual([uid, gid], [1234, 2345], path);
    }
    // One that is there already is not given to anybody.
    mkdirSync(join(within, 'own'));
    changeSettings({ path: join(within, 'own', 'settings.json'), within }, install);
    assert.deepEqual([statSync(join(within, 'own')).uid, statSync(join(within, 'own/settings.json')).uid], [0, 0]);
  });

  it('is not read where it is larger than any', () => {
    const place = project();
    writeFileSync(place.path, '');
    truncateSync(place.path, hookSettingsBytes + 1);
    assert.throws(() => changeSettings(place, install), { code: 'EINVAL', reason: /at most .* unchanged/ });
  });

  it('stays as it is, with nothing beside it, where it cannot be replaced', () => {
    const place = project();
    writeFileSync(place.path, others);
    // A directory that came meanwhile.
    const change = (text: string | undefined) => {
      rmSync(place.path);
      mkdirSync(join(place.path, 'in the way'), { recursive: true });
      return install(text);
    };
    assert.throws(() => changeSettings(place, change), { code: 'EINVAL' });
    assert.deepEqual(readdirSync(join(place.within, '.claude')), ['settings.json']);
  });

  it('keeps what its harness wrote meanwhile', () => {
    for (const before of [others, undefined]) {
      const place = project();
      if (before !== undefined) writeFileSync(place.path, before);
      const late = '{"model":"another"}\n';
      let isLate = true;
      const { text } = changeSettings(place, (found) => {
        if (isLate) writeFileSync(place.path, late);
        isLate = false;
        return install(found);
      });
      assert.deepEqual([text, readFileSync(place.path, 'utf8')], [install(late), install(late)]);
      assert.deepEqual(readdirSync(join(place.within, '.claude')), ['settings.json']);
    }
    const place = project();
    writeFileSync(place.path, others);
    let count = 0;
    const change = (found: string | undefined) => {
      count += 1;
      writeFileSync(place.path, `{"count":${count}}`);
      return install(found);
    };
    assert.throws(() => changeSettings(place, change), { code: 'EAGAIN' });
    assert.equal(readFileSync(place.path, 'utf8'), `{"count":${count}}`);
    assert.deepEqual(readdirSync(join(place.within, '.claude')), ['settings.json']);
  });

  it('has nothing beside it of an install that was killed, and all that others made there', () => {
    const place = project();
    const gone = 2 ** 22 + 1;
    const left = [`settings.json.${gone}.new`, `settings.json.${gone.toString(36)}-a-b.new`];
    const kept = [`settings.json.${process.ppid}.new`, 'settings.json.mine.new', `other.json.${gone}.new`];
    for (const name of [...left, ...kept]) writeFileSync(join(dirname(place.path), name), 'half');
    changeSettings(place, install);
    assert.deepEqual(readdirSync(dirname(place.path)).sort(), [...kept, 'settings.json'].sort());
  });

  it('is on the disk when it is said to be, with the name of its directory', () => {
    const within = join(root, 'durable');
    mkdirSync(within);
    const path = join(within, '.claude', 'settings.json');
    const synced: string[] = [];
    const real = fs.fsyncSync;
    mock.method(fs, 'fsyncSync', (descriptor: number) => {
      synced.push(readlinkSync(`/proc/self/fd/${descriptor}`));
      real(descriptor);
    });
    syncBuiltinESMExports();
    try {
      changeSettings({ path, within }, install);
    } finally {
      mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.equal(synced.at(-1), dirname(path));
    assert.ok(synced.includes(within), 'the directory that names the new one');
  });

  it('keeps its mode, is replaced as a whole, and not at all where nothing changes', () => {
    const place = project();
    writeFileSync(place.path, others);
    chmodSync(place.path, 0o664);
    changeSettings(place, install);
    const { ino, mode } = statSync(place.path);
    assert.equal(mode & 0o7777, 0o664);
    assert.equal(changeSettings(place, install).changed, false);
    assert.equal(statSync(place.path).ino, ino);
    assert.deepEqual(readdirSync(join(place.within, '.claude')), ['settings.json']);
  });

  it('stays as it is where its bytes are no text, wherever they are', () => {
    for (const [number, bytes] of [[0xe4], [0xff, 0xfe], [0xc3], [0xed, 0xa0, 0x80]].entries()) {
      for (const [where, whole] of Object.entries({
        value: ['{"note": "', '"}'],
        key: ['{"', '": 1}'],
        end: ['{}', ''],
      })) {
        const path = join(root, `bytes-${number}-${where}.json`);
        const before = Buffer.concat([Buffer.from(whole[0] ?? ''), Buffer.from(bytes), Buffer.from(whole[1] ?? '')]);
        writeFileSync(path, before);
        assert.throws(() => changeSettings({ path }, install), { code: 'EINVAL' });
        assert.deepEqual(readFileSync(path), before);
      }
    }
  });

  it('stays as it is where it is not JSON', () => {
    const place = project();
    writeFileSync(place.path, '{ broken');
    assert.throws(() => changeSettings(place, install), { code: 'EINVAL' });
    assert.equal(readFileSync(place.path, 'utf8'), '{ broken');
    assert.deepEqual(readdirSync(join(place.within, '.claude')), ['settings.json']);
  });

  it('stays a link, and what it leads to is changed', () => {
    const place = project();
    writeFileSync(join(place.within, 'shared.json'), '{"a":1}');
    symlinkSync('../shared.json', place.path);
    changeSettings(place, install);
    assert.equal(JSON.parse(readFileSync(join(place.within, 'shared.json'), 'utf8')).a, 1);
    assert.equal(realpathSync(place.path), join(place.within, 'shared.json'));
  });

  it('of a project is not followed out of it; a person’s own is', () => {
    const place = project();
    const outside = join(root, 'outside.json');
    writeFileSync(outside, '{}');
    symlinkSync(outside, place.path);
    assert.throws(() => changeSettings(place, install), { code: 'EINVAL' });
    assert.equal(readFileSync(outside, 'utf8'), '{}');
    assert.equal(changeSettings({ path: place.path }, install).changed, true);
    const linked = project();
    rmSync(join(linked.within, '.claude'), { recursive: true });
    symlinkSync(root, join(linked.within, '.claude'));
    assert.throws(() => changeSettings(linked, install), { code: 'EINVAL' });
  });

  it('is changed in the directory that was looked at, whatever takes its place meanwhile', () => {
    for (const isThere of [true, false]) {
      const place = project();
      const [directory, outside] = [dirname(place.path), join(root, `swapped-${isThere}`)];
      mkdirSync(outside);
      if (isThere) writeFileSync(place.path, others);
      changeSettings(place, (text) => {
        renameSync(directory, `${directory}.moved`);
        symlinkSync(outside, directory);
        return install(text);
      });
      assert.deepEqual(readdirSync(outside), [], String(isThere));
      assert.match(readFileSync(join(`${directory}.moved`, 'settings.json'), 'utf8'), /hook claude-code/);
      const fresh = join(place.within, 'none/.claude/settings.json');
      const swap = (text: string | undefined) => {
        symlinkSync(outside, join(place.within, 'none'));
        return install(text);
      };
      assert.throws(() => changeSettings({ path: fresh, within: place.within }, swap), { code: 'ESTALE' });
      assert.deepEqual(readdirSync(outside), [], String(isThere));
    }
  });

  it('is refused where it is a link to nothing, or no file', () => {
    const place = project();
    symlinkSync('nothing.json', place.path);
    assert.throws(() => changeSettings(place, install), { code: 'EINVAL' });
    const other = project();
    mkdirSync(other.path);
    assert.throws(() => changeSettings(other, install), { code: 'EINVAL' });
    const pipe = project();
    execFileSync('mkfifo', [pipe.path]);
    assert.throws(() => changeSettings(pipe, install), { code: 'EINVAL' });
  });
});
