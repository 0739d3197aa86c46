import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { ErrnoError } from '../base/errno.js';
import { agentFiles, type ControlFiles, toolFiles } from './control-file.js';

const files: ControlFiles = { ...toolFiles, ...agentFiles };

function refusal(file: string, text: string): string {
  try {
    files[file]?.parse(text, `x.d/${file}`);
  } catch (error) {
    assert.ok(error instanceof ErrnoError && error.code === 'EINVAL', String(error));
    return error.reason;
  }
  return assert.fail(`${file} took ${JSON.stringify(text)}`);
}

describe('a control file', () => {
  it('is every one of the seed, and seven more of an agent', () => {
    const seed =
      'owner uid gid groups label iso parent life root cwd env path mount model policy status pid log meta.json';
    const more = 'network quota expiry scope sibling_reads additional_reads supervised';
    assert.deepEqual(Object.keys(agentFiles), [...seed.split(' '), ...more.split(' ')]);
    assert.deepEqual(Object.keys(toolFiles), 'name description schema cap policy status log'.split(' '));
  });

  it('is written by its operator, but for what makes an object, runs it or supervises it', () => {
    const by = (all: ControlFiles, writer: string) => Object.keys(all).filter((name) => all[name]?.writer === writer);
    const others = (all: ControlFiles) => ['maker', 'process', 'supervisor'].map((writer) => by(all, writer).join(' '));
    assert.deepEqual(others(agentFiles), ['owner parent', 'status pid log', 'supervised']);
    assert.deepEqual(others(toolFiles), ['name', 'status log', '']);
    assert.deepEqual(
      [agentFiles, toolFiles].map((all) => by(all, 'operator').length),
      [Object.keys(agentFiles).length - 6, Object.keys(toolFiles).length - 3],
    );
  });

  it('is read into its value', () => {
    const read = (file: string, text: string) => files[file]?.parse(text, file);
    assert.equal(read('uid', '1000\n'), 1000);
    assert.deepEqual(read('groups', '# wheel\n10\n\n4\n'), [10, 4]);
    assert.deepEqual(read('env', 'A=1\nB=x=y z\nC=\n'), { A: '1', B: 'x=y z', C: '' });
    assert.equal(read('cwd', ''), undefined);
    assert.equal(read('cwd', '/workspace\n'), '/workspace');
    assert.deepEqual(read('path', '/ctx/tool\n/ctx/home/1000/tool\n'), ['/ctx/tool', '/ctx/home/1000/tool']);
    assert.deepEqual(read('model', 'openai/gpt-4o\n'), ['openai/gpt-4o']);
    assert.deepEqual(read('network', 'Registry.npmjs.org:443\n'), { kind: 'hosts', hosts: ['registry.npmjs.org:443'] });
    assert.equal(read('network', '# none\n'), undefined);
    assert.deepEqual(read('quota', 'cpu 1.5\nmemory 1048576\n'), { cpu: 1.5, memory: 1048576 });
    assert.deepEqual(read('expiry', 'expiresAt 1700000000000\nuses 3\n'), { expiresAt: 1700000000000, uses: 3 });
    assert.equal(read('scope', ''), 'project');
    assert.deepEqual([read('sibling_reads', ''), read('sibling_reads', 'all\n')], ['none', 'all']);
    assert.deepEqual(read('additional_reads', '# more\n/srv/x\n$GOPATH/pkg\n'), ['/srv/x', '$GOPATH/pkg']);
    const grant = { by: 'operator:0', excess: { kind: 'group', gid: 27 } };
    assert.deepEqual(read('supervised', `${JSON.stringify(grant)}\n`), [grant]);
    assert.deepEqual(read('cap', 'fork rw\n'), [{ kind: 'fork', access: 'rw' }]);
    assert.equal(read('parent', 'agent:coder\n') !== undefined, true);
    assert.equal(read('pid', '\n'), undefined);
  });

  it('is refused with its line and column where it is wrong', () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['uid', 'root\n', /^x\.d\/uid:1:1: expected a number/],
      ['uid', '1\n2\n', /^x\.d\/uid:2:1: expected one line/],
      ['scope', 'any\n\n', /^x\.d\/scope:2:1: expected one line/],
      ['label', 'a\0b\n', /^x\.d\/label:1:2: expected a line without NUL/],
      ['sibling_reads', 'some\n', /^x\.d\/sibling_reads:1:1: expected one of none, all/],
      ['additional_reads', '/a\n../b\n', /^x\.d\/additional_reads:2:1: expected an absolute path/],
      ['additional_reads', '$SECRET/x\n', /^x\.d\/additional_reads:1:1: expected a variable of HOME/],
      ['supervised', '{"by":"x"}\n', /^x\.d\/supervised:1:1: expected \{"by"/],
      ['supervised', '{"by":"x","excess":{"kind":"identity","field":"uid","asked":0,"held":1}}\n', /:1:1: expected/],
      ['supervised', '{"by":"x","excess":{"kind":"group","gid":1,"more":2}}\n', /:1:1: expected/],
      ['uid', '4294967295', /:1:1: expected a number from 0 to 4294967294/],
      ['groups', '1\nwheel\n', /^x\.d\/groups:2:1: /],
      ['label', 'coder_t\n', /^x\.d\/label:1:1: expected four parts/],
      ['iso', 'strong', /^x\.d\/iso:1:1: expected one of shared, uid, userns/],
      ['life', '', /^x\.d\/life:1:1: /],
      ['root', 'relative', /^x\.d\/root:1:1: /],
      ['root', '/a/../b', /^x\.d\/root:1:1: /],
      ['cwd', '/a\n/b\n', /^x\.d\/cwd:2:1: /],
      ['env', 'A=1\n1A=2\n', /^x\.d\/env:2:1: expected NAME=VALUE/],
      ['env', 'A=1\nA=2\n', /^x\.d\/env:2:1: expected A once/],
      ['path', '/ctx/tool:/x\n', /^x\.d\/path:1:1: expected a path without a colon/],
      ['mount', '/a /b ro -\n', /^x\.d\/mount:1:\d+: expected source<TAB>/],
      ['model', 'gpt\n', /^x\.d\/model:1:1: /],
      ['policy', 'allow coder_t tool:fs.* execute\n', /^x\.d\/policy:1:20: /],
      ['status', 'asleep', /^x\.d\/status:1:1: /],
      ['meta.json', '[]', /^x\.d\/meta\.json:1:1: expected a JSON object/],
      ['network', 'a.example:443\nlocalhost\n', /^x\.d\/network:2:1: expected host:port/],
      ['quota', 'memory 1\nmemory 2\n', /^x\.d\/quota:2:1: expected each of/],
      ['quota', 'memory lots\n', /^x\.d\/quota:1:8: expected one number after memory/],
      ['quota', 'pids 0\n', /^x\.d\/quota:1:1: pids: expected a positive number/],
      ['scope', 'home', /^x\.d\/scope:1:1: expected one of project/],
      ['cap', 'everything\n', /^x\.d\/cap:1:1: /],
      ['schema', '{', /^x\.d\/schema:1:1: expected JSON/],
      ['name', 'a/b', /^x\.d\/name:1:1: /],
    ];
    for (const [file, text, expected] of cases) assert.match(refusal(file, text), expected, file);
  });

  it('is read or refused, whatever it holds', () => {
    const line = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('1', '/a', 'A=b', '\0', '{}', 'cpu 1'),
    );
    const text = fc.array(line).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(files)), text, (file, given) => {
        try {
          files[file]?.parse(given, file);
        } catch (error) {
          assert.ok(error instanceof ErrnoError && error.code === 'EINVAL', `${file}: ${String(error)}`);
          assert.match(error.reason, /^[a-z._]+:\d+:\d+: /, file);
        }
      }),
      seeded(3000),
    );
  });
});
