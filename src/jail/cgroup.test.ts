import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { library } from '../audit/record-fixture.js';
import { loadFileLock } from '../base/file-lock.js';
import { groupPlaces, groupSettings, makeGroup } from './cgroup.js';

describe('control groups', () => {
  it('write a limit the way each version has it', () => {
    const limits = { memory: 1_000_000, pids: 20, cpu: 1.5 };
    assert.deepEqual(
      groupSettings(2, limits).map(({ file, value }) => `${file}=${value}`),
      ['memory.max=1000000', 'memory.swap.max=0', 'pids.max=20', 'cpu.max=150000 100000'],
    );
    assert.deepEqual(
      groupSettings(1, limits).map(({ file, value }) => `${file}=${value}`),
      [
        'memory.limit_in_bytes=1000000',
        'memory.memsw.limit_in_bytes=1000000',
        'pids.max=20',
        'cpu.cfs_quota_us=150000',
      ],
    );
    assert.deepEqual(groupSettings(2, {}), []);
  });

  it('of version 2 stand beside the group this process is in', () => {
    const found = groupPlaces(
      '30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n',
      '0::/user.slice/user-1000.slice/session.scope\n',
    );
    assert.equal(found?.version, 2);
    assert.equal(found?.places.get('memory'), '/sys/fs/cgroup/user.slice/user-1000.slice');
  });

  it('of version 1 are found controller by controller, below the group this process is in', () => {
    const found = groupPlaces(
      [
        '31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
        '32 24 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct',
        '33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
      ].join('\n'),
      '4:memory:/service/a\n2:cpu,cpuacct:/\n0::/\n',
    );
    assert.equal(found?.version, 1);
    assert.deepEqual(
      [...(found?.places ?? [])],
      [
        ['memory', '/sys/fs/cgroup/memory/service/a'],
        ['cpu', '/sys/fs/cgroup/cpu'],
      ],
    );
  });

  it('are not made where nothing is limited, nor found where none are mounted', () => {
    assert.equal(makeGroup({}, library), undefined);
    assert.equal(groupPlaces('', '0::/\n'), undefined);
  });

  const reason = process.getuid?.() === 0 ? false : 'making a control group needs root or a delegated one';
  it('are made, hold their limit and leave nothing behind', { skip: reason }, (context) => {
    let group: ReturnType<typeof makeGroup>;
    try {
      group = makeGroup({ pids: 7 }, library);
    } catch (error) {
      assert.equal((error as { code: string }).code, 'ENOTSUP');
      context.skip('this host has no pids controller to give');
      return;
    }
    const [directory = ''] = group?.directories ?? [];
    assert.equal(readFileSync(`${directory}/pids.max`, 'utf8').trim(), '7');
    assert.deepEqual(group?.events(), []);
    group?.remove();
    assert.equal(existsSync(directory), false);
  });

  it('of a ctx that was killed are removed by the next, and those of one that lives are not', {
    skip: reason,
  }, (context) => {
    const nobody = (4_194_304).toString(36); // the kernel's highest process number is below
    const name = (owner: string) => `ctx-${owner}-${Date.now().toString(36)}-0`;
    let group: ReturnType<typeof makeGroup>;
    try {
      group = makeGroup({ pids: 7 }, library);
    } catch (error) {
      assert.equal((error as { code: string }).code, 'ENOTSUP');
      context.skip('this host has no pids controller to give');
      return;
    }
    const place = dirname(group?.directories[0] ?? '');
    // The numbers say the opposite, as those of another pid namespace may.
    const [abandoned, living] = [join(place, name(process.pid.toString(36))), join(place, name(nobody))];
    mkdirSync(abandoned);
    mkdirSync(living);
    const descriptor = openSync(living, 'r');
    loadFileLock(library, 0).hold(descriptor, living);
    const other = makeGroup({ pids: 7 }, library);
    const left = [abandoned, living, group?.directories[0] ?? ''].map((each) => existsSync(each));
    for (const each of [group, other]) each?.remove();
    closeSync(descriptor);
    rmdirSync(living);
    assert.deepEqual(left, [false, true, true]);
  });
});
