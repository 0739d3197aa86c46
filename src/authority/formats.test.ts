import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { parseLabel, printLabel } from './label.js';
import { parseIsolation, parseLife, parseLineage, printLineage } from './lineage.js';
import { isModelName, isObjectName, mountObjectName, parseObjectName } from './name.js';

const refused = { name: 'ErrnoError', code: 'EINVAL' };

describe('an object name', () => {
  it('is one component of plain characters', () => {
    for (const name of ['coder', 'fs.read', 'mcp.github.search_issues', 'fix-123', 'c++', '1', 'a'.repeat(64)]) {
      assert.ok(isObjectName(name), name);
    }
    for (const name of ['', '.', '..', '.x', '-x', 'a/b', 'a b', 'a:b', 'ä', 'a\n', 'a*', 'a'.repeat(65)]) {
      assert.ok(!isObjectName(name), name);
      assert.throws(() => parseObjectName(name), refused);
    }
  });

  it("never claims another object's socket or control directory", () => {
    assert.ok(!isObjectName('coder.sock'));
    assert.ok(!isObjectName('coder.d'));
    assert.ok(!isModelName('openai/gpt.d'));
    assert.ok(isObjectName('coder.socks'));
  });

  it('of a model has a provider', () => {
    assert.ok(isModelName('openai/gpt-4o'));
    for (const name of ['gpt-4o', '/gpt', 'openai/', 'a/b/c', '../x', 'a/..']) assert.ok(!isModelName(name), name);
  });

  it('of a mount is its target with dots, where that is a name at all', () => {
    assert.equal(mountObjectName('/shared/project-a'), 'shared.project-a');
    assert.equal(mountObjectName('/'), undefined);
    assert.equal(mountObjectName('/with space'), undefined);
  });
});

describe('a label', () => {
  it('prints as it was read', () => {
    assert.deepEqual(parseLabel('user_u:agent_r:coder_t:s0'), {
      user: 'user_u',
      role: 'agent_r',
      type: 'coder_t',
      level: 0,
    });
    assert.equal(printLabel(parseLabel('a:b:c-1_t:s15')), 'a:b:c-1_t:s15');
  });

  it('with a missing, surplus or malformed part is refused', () => {
    for (const text of [
      '',
      'coder_t',
      'a:b:c',
      'a:b:c:s0:x',
      'a:b::s0',
      'a:b:c:s16',
      'a:b:c:s01',
      'a:b:c:0',
      'a:b:c:s0\n',
    ]) {
      assert.throws(() => parseLabel(text), refused, text);
    }
  });
});

describe('lineage, life and isolation', () => {
  it('print as they were read', () => {
    for (const text of [
      '',
      'agent:coder\n',
      'agent:coder session:default\n',
      'agent:coder session:default run:01H8\n',
    ]) {
      assert.equal(printLineage(parseLineage(text)), text);
    }
    assert.equal(parseLife('owned\n'), 'owned');
    assert.equal(parseIsolation('userns'), 'userns');
  });

  it('refuse anything else, and say what was expected', () => {
    for (const text of [
      'coder',
      'session:x',
      'agent:coder run:1',
      'agent:../x',
      'agent:a  session:b',
      'agent:a\n\n',
      'agent:a session:b run:c run:d',
      'xxxxx:a',
      'agent:a sessions:b',
      'agent:a session:',
    ]) {
      assert.throws(() => parseLineage(text), refused, text);
    }
    assert.throws(
      () => parseLife('forever'),
      (error) => {
        assert.ok(error instanceof ErrnoError);
        assert.match(error.reason, /owned, detached/);
        return true;
      },
    );
    assert.throws(() => parseIsolation('Shared'), refused);
  });
});
