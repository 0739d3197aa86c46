import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { describe, it } from 'node:test';
import { refuseUnknownNode } from './copy-trial.js';
import { parseKeeperRequest } from './keeper-request.js';
import { differenceOf, limitsOf, readProcessTraits } from './process-traits.js';
import { isServed, servedVerbs, startVariables } from './served-calls.js';

const head = (process: number, terminals: number) => {
  const bytes = Buffer.alloc(5);
  bytes.writeInt32LE(process);
  bytes.writeUInt8(terminals, 4);
  return bytes;
};
const request = (...strings: readonly string[]) =>
  Buffer.concat([head(77, 2), Buffer.from(strings.map((each) => `${each}\0`).join(''))]);
const none = [false, false, false];

describe('a request to a keeper', () => {
  it('is read as native/call writes it', () => {
    const bytes = request('1', '8:9', '0 0 50000', '2', 'ctx.cjs', 'status', 'A=1', 'B=');
    const read = parseKeeperRequest(bytes);
    assert.deepEqual(read?.words, ['ctx.cjs', 'status']);
    assert.deepEqual(read?.environment(), ['A=1', 'B=']);
    assert.deepEqual([read?.process, read?.node, read?.traits], [77, '8:9', '0 0 50000']);
    assert.deepEqual(read?.terminals, [false, true, false]);
    assert.equal(read?.carries, false);
    bytes.writeUInt8(8 + 1, 4);
    assert.deepEqual(parseKeeperRequest(bytes)?.terminals, [true, false, false]);
    assert.equal(parseKeeperRequest(bytes)?.carries, true);
    assert.equal(bytes.toString('utf8', read?.from, read?.to), 'A=1\0B=\0');
  });

  it('is none where it is of another version, cut off, or counts wrongly', () => {
    for (const strings of [
      ['2', '8:9', '', '1', 'ctx.cjs'],
      ['1', '8:9', '', '3', 'ctx.cjs'],
      ['1', '8:9', '', 'x'],
      ['1'],
    ]) {
      assert.equal(parseKeeperRequest(request(...strings)), undefined);
    }
    assert.equal(
      parseKeeperRequest(Buffer.concat([request('1', '8:9', '', '1', 'ctx.cjs'), Buffer.from('A=1')])),
      undefined,
    );
    assert.equal(parseKeeperRequest(Buffer.alloc(3)), undefined);
  });
});

describe('the Node of a keeper', () => {
  it('is one that its tests were run with', () => {
    for (const version of ['20.19.0', '22.1.0', '24.21.0', '26.10.0']) refuseUnknownNode(version);
    for (const version of ['18.20.0', '21.0.0', '23.1.0', '25.0.0', '200.0.0', '']) {
      assert.throws(() => refuseUnknownNode(version), /no keeper was tested with this version/);
    }
  });
});

describe('what a keeper serves', () => {
  const served = (given: readonly string[], terminals = none, carries = false) =>
    isServed({ given, terminals, carries });

  it('is what stays nowhere and serves nobody', () => {
    assert.ok(served(['exec', '--', 'ctx', 'exec', '--keep']));
    assert.ok(served(['fork', 'list']));
    assert.ok(served(['hook', 'json']));
    // Descriptors of the caller's own do not come with its call.
    assert.ok(served(['exec', '--', 'cat', '/dev/fd/63', '/proc/self/status']));
    assert.ok(served(['policy', 'check', '/dev/stdin']));
    for (const path of ['/dev/fd/63', '/proc/self/fd/3', '/proc/thread-self/fd/3', '//dev/fd']) {
      assert.equal(served(['policy', 'check', path]), false, path);
      assert.equal(served(['policy', 'check', '--', path]), false, path);
    }
    for (const given of [
      ['hook', 'install', 'claude-code'],
      ['exec', '--keep', '--', 'true'],
      ['exec', '--mount=a:b', '--', 'true'],
      ['fork', 'mount'],
      ['tool', 'source', 'refresh', 'x'],
      ['tool', 'call', 'x'],
      ['secret', 'set', 'X'],
      ['audit', 'tail', '--follow'],
      ['vault', 'migrate'],
      ['stop', '--all'],
      ['vfs', 'ls', 'memory:'],
      ['toString'],
      ['mcp'],
      ['run'],
      [],
    ]) {
      assert.equal(served(given), false, given.join(' '));
    }
  });

  it('is what reads no terminal, unless its caller carries it', () => {
    const all = [true, true, true];
    const onlyInput = [true, false, false];
    for (const verb of ['status', 'apply', 'rollback', 'drop', 'why']) assert.ok(served([verb], all), verb);
    assert.ok(served(['exec', '--', 'true'], [false, true, true]));
    assert.ok(served(['exec', '--', 'cat', '--json'], all, true));
    assert.ok(served(['diff'], onlyInput));
    assert.equal(served(['exec', '--', 'cat'], all), false);
    assert.equal(served(['exec', '--', 'cat'], onlyInput, true), false);
    for (const option of ['--json', '--stream', '--json=x']) {
      assert.equal(served(['exec', option, '--', 'cat'], all, true), false, option);
    }
    assert.equal(served(['diff'], [false, true, false]), false);
    for (const given of [
      ['hook', 'json'],
      ['trust', '--show'],
      ['agent', 'new', 'a'],
      ['agent', 'set', 'a', 'caps'],
      ['tool', 'new', 'a'],
      ['tool', 'set', 'a', 'schema'],
      ['policy', 'check', '-'],
      ['mount', 'check', '-'],
    ]) {
      assert.equal(served(given, onlyInput), false, given.join(' '));
      assert.ok(served(given, [false, true, true]), given.join(' '));
    }
    for (const given of [['ps'], ['agent', 'ls'], ['tool', 'show', 'a'], ['audit', 'verify'], ['secret', 'list']]) {
      assert.ok(served(given, all), given.join(' '));
    }
  });

  it('is what bin/ctx asks for', () => {
    const script = readFileSync(new URL('../../../../bin/ctx', import.meta.url), 'utf8');
    const asked = [...script.matchAll(/'on (\w+)'/g)].map(([, verb]) => verb);
    assert.deepEqual(asked, servedVerbs);
  });

  it('depends on what Node reads when it starts, and on nothing else of the environment', () => {
    assert.equal(startVariables(['B=1', 'NODE_ENV=x', 'PATH=/bin', 'HOME=/root']), '');
    for (const name of [
      ...['TZ', 'LANG', 'LC_ALL', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'GLIBC_TUNABLES', 'MALLOC_ARENA_MAX'],
      ...['NODE_PATH', 'NODE_OPTIONS', 'UV_THREADPOOL_SIZE', 'OPENSSL_CONF', 'SSL_CERT_FILE', 'ICU_DATA', 'CTX_BOOT'],
    ]) {
      assert.equal(startVariables(['A=1', `${name}=x`]), `${name}=x`);
    }
    assert.equal(startVariables(['LANG=C', 'LC_ALL=C']), startVariables(['LC_ALL=C', 'LANG=C']));
  });
});

describe('what a process gives to those that it starts', () => {
  const own = readProcessTraits('self', 0);

  it('is the same for a process as for itself', () => {
    assert.equal(differenceOf(own, readProcessTraits(process.pid, 0)), undefined);
  });

  it('is everything of a process that its children get, as far as this kernel says it', () => {
    const status = readFileSync('/proc/self/status', 'utf8');
    for (const name of [
      ...['Umask', 'Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp'],
      ...['Seccomp_filters', 'Speculation_Store_Bypass', 'SpeculationIndirectBranch', 'Cpus_allowed', 'Mems_allowed'],
      ...['SigBlk', 'THP_enabled'],
    ]) {
      const [, text] = new RegExp(`^${name}:[ \t]*(.*)$`, 'm').exec(status) ?? [];
      assert.equal(own.get(name), text?.trim(), name);
    }
    for (const name of ['cgroup', 'oom_score_adj', 'coredump_filter', 'loginuid']) {
      const path = `/proc/self/${name}`;
      if (existsSync(path)) assert.equal(own.get(name), readFileSync(path, 'utf8'), name);
    }
    for (const name of readdirSync('/proc/self/ns'))
      assert.equal(own.get(`namespace ${name}`), readlinkSync(`/proc/self/ns/${name}`));
    for (const name of ['limits', 'scheduling', 'io priority', 'root']) assert.ok(own.has(name), name);
  });

  it('differs by any one of them, and by one that cannot be seen', () => {
    for (const name of own.keys()) {
      assert.equal(differenceOf(own, new Map(own).set(name, 'another')), name);
      const without = new Map(own);
      without.delete(name);
      assert.equal(differenceOf(own, without), name);
    }
    assert.notEqual(differenceOf(new Map(), new Map()), undefined);
  });

  it('has the hard limit of open files, since Node raises the soft one', () => {
    const line = (soft: string, hard: string) =>
      `Max open files            ${soft.padEnd(20)} ${hard.padEnd(20)} files\n`;
    assert.equal(limitsOf(line('1024', '1048576')), limitsOf(line('1048576', '1048576')));
    assert.notEqual(limitsOf(line('1024', '4096')), limitsOf(line('1024', '512')));
  });
});
