import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { obeyedBy } from './git-obeyed-values.js';

const bases = { directories: ['/w'], home: '/home/me', programs: [] };
const pathsOf = (value: string, key = 'core.fsmonitor') => {
  const { below, files } = obeyedBy({ key, value }, bases);
  return new Set([...below, ...files]);
};

describe('paths that a setting may lead to', () => {
  it('are found however a shell is told of them', () => {
    const path = 'a b/run';
    const values = [
      `"/w/${path}"`,
      `'/w/${path}' --version 2`,
      `/w/a\\ b/run`,
      `sh "${path}" %f`,
      `sh './${path}'`,
      `"a b"/run`,
      `a" "b/run`,
      `"$PWD/${path}"`,
      `"\${PWD}/${path}" x`,
      `"$(git rev-parse --show-toplevel)/${path}"`,
      `"\`pwd\`/${path}"`,
      `sh -c "exec \\"./${path}\\" x"`,
      `sh -c 'sh -c "./a\\ b/run"'`,
      `!f() { "./${path}" "$@"; }; f`,
      `PATH=x "./${path}"`,
      `"./${path}`,
      path,
    ];
    for (const value of values) assert.ok(pathsOf(value).has('/w/a b/run'), value);
  });

  it('are found behind a variable, and in the home', () => {
    for (const value of ['$PWD/tools/x', `\${PWD}/tools/x`, 'sh $TOP/tools/x', '"$GIT_DIR"/tools/x']) {
      assert.ok(pathsOf(value).has('/w/tools/x'), value);
    }
    for (const value of ['~/x y', '"$HOME/x y"', '$HOME/x\\ y']) assert.ok(pathsOf(value).has('/home/me/x y'), value);
  });

  it('are none for switches, and for keys that name no path', () => {
    assert.deepEqual([...pathsOf('true')], []);
    assert.deepEqual([...pathsOf('a b/run', 'user.name')], []);
  });
});
