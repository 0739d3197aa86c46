import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anyPublicNetwork, hostNetwork, type Network, noNetwork } from '../authority/network.js';
import { makeSurface } from '../authority/surface.js';
import type { CallAction, PathUse } from './call.js';
import { decideCall, type HookRules } from './decide-call.js';
import { surfaceGrants } from './grants.js';
import { jailed } from './jailed-command.js';
import { withProtected } from './protected-paths.js';
import { type FoundPlace, resolvePath } from './resolve-path.js';

const surface = makeSurface({
  cwd: '/srv/app',
  additionalReads: ['/srv/lib'],
  additionalWrites: ['/srv/lib/out'],
  systemReads: ['/usr'],
  hidden: ['/srv/app/store', '/keys'],
});
const links: Readonly<Record<string, string>> = {
  '/srv/app/link': '/etc',
  '/srv/app/in': '/srv/lib',
  '/srv/app/self': 'self',
};
const form = { program: '/opt/ctx', options: [], shell: 'sh' };

function rules(network: Network = noNetwork, more: Partial<HookRules> = {}): HookRules {
  const grants = surfaceGrants(surface, { network, toolFault: (tool) => (tool === 'mcp.a.b' ? undefined : 'no') });
  return {
    grants: withProtected(grants, ['/srv/app/.claude'], surface.additionalWrites),
    resolve: (path) =>
      resolvePath(path, async (place) => {
        const target = links[place];
        return target === undefined ? { kind: 'directory' } : { kind: 'link', target };
      }),
    commands: 'rewrite',
    form,
    ...more,
  };
}

const decide = (action: CallAction, given = rules(), cwd = '/srv/app') => decideCall(given, { tool: 'T', cwd, action });
const paths = (path: string, access: 'read' | 'write', more: Partial<PathUse> = {}): CallAction => ({
  kind: 'paths',
  uses: [{ path, access, tree: false, ...more }],
});

async function denied(action: CallAction, reason: RegExp, given = rules(), cwd = '/srv/app') {
  const verdict = await decide(action, given, cwd);
  assert.equal(verdict.decision, 'deny', `${JSON.stringify(action)} ${verdict.reason}`);
  assert.match(verdict.reason, reason);
}

describe('a decision about paths', () => {
  it('allows what the surface grants', async () => {
    for (const action of [
      paths('a', 'write'),
      paths('/srv/app', 'write'),
      paths('/srv/lib/x', 'read'),
      paths('../lib/out/x', 'write'),
      paths('in/x', 'read'),
      paths('/usr/bin/env', 'read'),
      paths('.claude/settings.json', 'read'),
    ]) {
      assert.equal((await decide(action)).decision, 'allow', JSON.stringify(action));
    }
  });

  it('denies the rest, and says what an operator can add', async () => {
    await denied(paths('/etc/passwd', 'read'), /outside the surface.*--read \/etc\/passwd/);
    await denied(paths('../app2/x', 'write'), /outside.*--write \/srv\/app2\/x/);
    await denied(paths('/srv/lib/x', 'write'), /read-only in this task, by \/srv\/lib; .*--write/);
    await denied(paths('link/passwd', 'read'), /\/etc\/passwd is outside/);
    await denied(paths('in/x', 'write'), /read-only/);
    await denied(paths('self/x', 'read'), /circle/);
    await denied(paths('.claude/settings.json', 'write'), /read-only in this task, by \/srv\/app\/\.claude/);
  });

  it('does not take a name for the directory it begins like', async () => {
    for (const path of ['/srv/app2', '/srv/ap', '/srv/app.git/x', '/srv/appx/../app2/x']) {
      await denied(paths(path, 'read'), /outside/);
    }
  });

  it('denies a path that any reading leads outside', async () => {
    await denied(paths('link/../x', 'read'), /outside/); // The kernel: /x. As text: /srv/app/x.
    await denied(paths('in/../../app/x', 'write'), /outside|read-only/);
    await denied(paths(' /etc/passwd', 'read'), /outside/);
  });

  it('never shows what is hidden, and coaches nobody to it', async () => {
    for (const path of ['store', 'store/x', '/keys/a']) {
      await denied(paths(path, 'read'), /belongs to ctx itself/);
      assert.doesNotMatch((await decide(paths(path, 'read'))).reason, /operator/);
    }
  });

  it('denies a walk through a directory in which a mount covers what is there', async () => {
    const covered = ['/srv/app/src/covered', '/srv/app/src/missing'];
    const given = (found: FoundPlace) => {
      const plain = rules();
      const elsewhere = (path: string) => covered.filter((each) => each.startsWith(`${path}/`));
      const look = (place: string): FoundPlace => (place === covered[1] ? { kind: 'missing' } : found);
      return {
        ...plain,
        grants: { ...plain.grants, elsewhere },
        resolve: (path: string) =>
          resolvePath(path, async (place) => (covered.includes(place) ? look(place) : { kind: 'directory' })),
      };
    };
    const there: readonly FoundPlace[] = [
      { kind: 'directory' },
      { kind: 'other' },
      { kind: 'link', target: '/srv/app' },
      // Nor where it cannot be known: a walker may see more than we do.
      { kind: 'link', target: 'covered' },
      { kind: 'link', target: '/proc/1/root' },
      { kind: 'unknown', fault: 'a part of the path cannot be read (EACCES)' },
    ];
    const covers = /holds \/srv\/app\/src\/covered, where .* else/;
    for (const access of ['read', 'write'] as const)
      for (const found of there) await denied(paths('src', access, { tree: true }), covers, given(found));
    const directory = given({ kind: 'directory' });
    assert.equal((await decide(paths('src', 'read', { tree: true }), given({ kind: 'missing' }))).decision, 'allow');
    assert.equal((await decide(paths('src', 'read'), directory)).decision, 'allow');
    assert.equal((await decide(paths('src/other', 'read', { tree: true }), directory)).decision, 'allow');
  });

  it('denies a walk through a directory that holds something hidden', async () => {
    await denied(paths('/srv/app', 'read', { tree: true }), /holds \/srv\/app\/store/);
    assert.equal((await decide(paths('src', 'read', { tree: true }))).decision, 'allow');
  });

  it('holds a pattern to where it starts', async () => {
    const glob = (pattern: string, path = 'src') => paths(path, 'read', { tree: true, pattern });
    for (const pattern of ['**/*.ts', 'a/b/*.ts', '/usr/include/*.h', '{a,b}/*']) {
      assert.equal((await decide(glob(pattern))).decision, 'allow', pattern);
    }
    await denied(glob('/etc/*'), /outside/);
    await denied(glob('{a,/etc}/*'), /outside/);
    await denied(glob('../../*'), /without `\.\.`/);
    await denied(glob('~/*'), /home/);
    await denied(glob('*', '/etc'), /outside/);
    await denied(glob('link/*', '/srv/app/'), /outside|holds/);
  });

  it('shows a hostile path harmlessly, and not endlessly', async () => {
    const { reason } = await decide(paths(`/x\u001b[2J\n${'y'.repeat(3000)}`, 'read'));
    assert.doesNotMatch(reason, /[\u0000-\u001f]/);
    assert.ok(reason.length < 800);
  });

  it('needs a path and an absolute working directory', async () => {
    await denied({ kind: 'paths', uses: [] }, /expected a path/);
    await denied(paths('a', 'read'), /absolute working directory/, rules(), 'work/app');
  });
});

describe('a decision about a command', () => {
  const command = (text: string): CallAction => ({ kind: 'command', command: text });

  it('wraps whatever it is', async () => {
    for (const text of ['ls', 'ctx exec -- ls', "/opt/ctx exec --wait -- sh -c 'ls'; id", 'true || ctx exec']) {
      const verdict = await decide(command(text));
      assert.ok(verdict.decision === 'rewrite');
      assert.equal(verdict.command, jailed(text, form));
    }
  });

  it('leaves alone what it wrapped itself', async () => {
    assert.equal((await decide(command(jailed('ls', form)))).decision, 'allow');
    assert.equal((await decide(command(jailed('ls', form)), rules(noNetwork, { commands: 'deny' }))).decision, 'allow');
  });

  it('denies it where that is configured, and says the form that would run', async () => {
    const given = rules(noNetwork, { commands: 'deny' });
    const verdict = await decide(command('ls -l'), given);
    assert.equal(verdict.decision, 'deny');
    assert.ok(verdict.reason.endsWith(jailed('ls -l', form)));
  });

  it('denies what is none, or too long, or would start elsewhere', async () => {
    await denied(command(' '), /expected a command/);
    await denied(command('a\0b'), /NUL/);
    await denied(command('\ud800'), /halves/);
    await denied(command('x'.repeat(200_000)), /script/);
    await denied(command("'".repeat(40_000)), /script/);
    await denied(command('ls'), /working directory/, rules(), '/etc');
    await denied(command('ls'), /working directory/, rules(), '/srv/lib');
    await denied(command('ls'), /working directory/, rules(), '/srv/app/link');
  });
});

describe('a decision about the network and other tools', () => {
  const fetch = (url: string): CallAction => ({ kind: 'fetch', url });

  it('has no network unless one is granted', async () => {
    await denied(fetch('https://example.org/'), /no network.*--net/);
    await denied({ kind: 'search' }, /no network/);
  });

  it('holds a fetch to the hosts that are granted', async () => {
    const given = rules(hostNetwork(['example.org:443']));
    assert.equal((await decide(fetch('https://EXAMPLE.org/x'), given)).decision, 'allow');
    for (const url of [
      'http://example.org/',
      'https://example.org:8443/',
      'https://sub.example.org/',
      'https://evil.org/',
    ]) {
      await denied(fetch(url), /not among the hosts/, given);
    }
    for (const url of [
      'https://example.org@evil.org/',
      'https://evil.org\\@example.org/',
      'file:///etc/passwd',
      'https://a\nb/',
      'x',
    ]) {
      await denied(fetch(url), /plain http/, given);
    }
    await denied({ kind: 'search' }, /listed hosts only/, given);
  });

  it('keeps any public host public', async () => {
    const given = rules(anyPublicNetwork);
    assert.equal((await decide(fetch('https://example.org/'), given)).decision, 'allow');
    assert.equal((await decide({ kind: 'search' }, given)).decision, 'allow');
    for (const url of ['http://127.0.0.1/', 'http://169.254.169.254/latest', 'http://[::1]/', 'http://localhost:80/']) {
      await denied(fetch(url), /not among/, given);
    }
  });

  it('runs a tool by name only', async () => {
    assert.equal((await decide({ kind: 'tool', name: 'mcp.a.b' })).decision, 'allow');
    await denied({ kind: 'tool', name: 'mcp.a.c' }, /--tool mcp\.a\.c/);
    await denied({ kind: 'tool', name: '' }, /no policy can grant/);
    await denied({ kind: 'tool', name: 'a/../b' }, /no policy can grant/);
  });
});
