/** One suite that every engine passes: conformance-cases, and that it is read-only where it shall be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOnly } from '../../src/vfs/engines/readonly/readonly.js';
import { cases, Subject } from './conformance-cases.js';
import { directoryMode, fileMode, type MadeEngine } from './engines.js';

/** To be called in a `describe`. */
export function conforms(make: () => Promise<MadeEngine>): void {
  for (const [sentence, act] of Object.entries(cases)) {
    test(sentence, async () => {
      const { filesystem, end } = await make();
      try {
        await act(new Subject(filesystem));
      } finally {
        await end();
      }
    });
  }

  test('refuses every change where it is read-only', async () => {
    const { filesystem, end } = await make();
    try {
      const { inode } = await new Subject(filesystem).file('f', 'text');
      const subject = new Subject(readOnly(filesystem));
      const { fs } = subject;
      const changes: (() => unknown)[] = [
        () => fs.setattr(inode, { mode: 0 }),
        () => fs.create(fs.root, 'g', fileMode, { read: true, write: true }),
        () => fs.mkdir(fs.root, 'g', directoryMode),
        () => fs.open(inode, { read: true, write: true }),
        () => fs.unlink(fs.root, 'f'),
        () => fs.rmdir(fs.root, 'f'),
        () => fs.rename(fs.root, 'f', fs.root, 'g', 'replace'),
        () => fs.link(inode, fs.root, 'g'),
        () => fs.symlink(fs.root, 'g', 'f', fileMode),
        () => fs.mknod(fs.root, 'g', fileMode, 'file', 0),
        () => fs.setxattr(inode, 'user.x', Buffer.alloc(1), 'any'),
        () => fs.removexattr(inode, 'user.x'),
      ];
      for (const change of changes) await subject.refuses('EROFS', change);
      const handle = await fs.open(inode, { read: true, write: false });
      assert.equal((await fs.read(handle, 0, 9)).toString(), 'text');
      await fs.release(handle);
    } finally {
      await end();
    }
  });
}
