/** The verbs of the virtual filesystem. */
import { json } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

const load = async () => import('./vfs.js');
const loadMount = async () => import('../mounts/vfs-mount.js');
const specification =
  'SPEC is memory:, host:PATH, chunked:FILE[@SNAPSHOT], s3://BUCKET/PREFIX, webdav:URL, rclone:REMOTE:PATH or FILE.toml.';

const writable: Option = {
  name: 'writable',
  summary: 'allow writing to a tree that ctx did not make (host:, s3:, webdav:, rclone:)',
};

export const vfsVerbs: readonly Verb[] = [
  {
    name: 'vfs ls',
    summary: 'list a directory of a tree',
    operands: 'SPEC [PATH]',
    words: { least: 1, most: 2 },
    options: [json],
    details: [specification],
    examples: ['ctx vfs ls host:/srv/data', 'ctx vfs ls chunked:notes.ctx@monday /drafts'],
    load: async () => (await load()).list,
  },
  {
    name: 'vfs cat',
    summary: 'print a file of a tree',
    operands: 'SPEC PATH',
    words: { least: 2, most: 2 },
    options: [json],
    details: [specification, 'Links cannot lead out of the tree. --json has the bytes in base64.'],
    examples: ['ctx vfs cat chunked:notes.ctx /todo'],
    load: async () => (await load()).cat,
  },
  {
    name: 'vfs stat',
    summary: 'kind, size, mode and times of an entry',
    operands: 'SPEC PATH',
    words: { least: 2, most: 2 },
    options: [json],
    details: [specification, 'Of a link: the link itself.'],
    examples: ['ctx vfs stat host:/srv/data /readme.txt --json'],
    load: async () => (await load()).stat,
  },
  {
    name: 'vfs put',
    summary: 'write stdin to a file of a tree',
    operands: 'SPEC PATH',
    words: { least: 2, most: 2 },
    options: [json, writable, { name: 'parents', summary: 'make the directories it is in' }],
    details: [specification, 'Replaces what is there. A chunked: file that does not exist is made.'],
    examples: ['echo milk | ctx vfs put chunked:notes.ctx /todo'],
    load: async () => (await load()).put,
  },
  {
    name: 'vfs rm',
    summary: 'remove an entry of a tree',
    operands: 'SPEC PATH',
    words: { least: 2, most: 2 },
    options: [json, writable, { name: 'recursive', summary: 'a directory with everything in it' }],
    details: [specification],
    examples: ['ctx vfs rm chunked:notes.ctx /drafts --recursive'],
    load: async () => (await load()).remove,
  },
  {
    name: 'vfs snapshot',
    summary: 'save a named snapshot of a chunked tree; without a NAME, list the snapshots',
    operands: 'SPEC [NAME]',
    words: { least: 1, most: 2 },
    options: [json, { name: 'delete', summary: 'delete the snapshot of that name' }],
    details: ['It costs the same whatever the tree holds. chunked:FILE@NAME is the tree as it was, read-only.'],
    examples: [
      'ctx vfs snapshot chunked:notes.ctx monday',
      'ctx vfs snapshot chunked:notes.ctx',
      'ctx vfs snapshot chunked:notes.ctx monday --delete',
    ],
    load: async () => (await load()).snapshot,
  },
  {
    name: 'vfs clone',
    summary: 'make a writable copy of a chunked tree or of a snapshot, in the same file',
    operands: 'SPEC NAME',
    words: { least: 2, most: 2 },
    options: [json],
    details: [
      'It costs the same whatever the tree holds. chunked:FILE@NAME is the clone; it is written with --writable, or :rw',
      'in a jail, and the first tree is not. vfs snapshot lists clones, too, and deletes them with --delete.',
    ],
    examples: ['ctx vfs clone chunked:notes.ctx draft', 'ctx vfs clone chunked:notes.ctx@monday retry'],
    load: async () => (await load()).clone,
  },
  {
    name: 'vfs restore',
    summary: 'restore a chunked tree to a snapshot; its current state is saved as another snapshot',
    operands: 'SPEC NAME',
    words: { least: 2, most: 2 },
    options: [json],
    details: ['It costs the same whatever the tree holds. EBUSY while a process writes to the tree.'],
    examples: ['ctx vfs restore chunked:notes.ctx monday'],
    load: async () => (await load()).restore,
  },
  {
    name: 'vfs check',
    summary: 'check that a tree is whole: every page, chunk, name and count',
    operands: 'SPEC',
    words: { least: 1, most: 1 },
    options: [json, { name: 'collect', summary: 'free the space of chunks that nothing uses' }],
    details: ['It only reads, unless --collect is given. The exit code is 1 where something is damaged.'],
    examples: ['ctx vfs check chunked:notes.ctx'],
    load: async () => (await load()).check,
  },
  {
    name: 'vfs mount',
    summary: 'show a tree at an empty directory of this machine',
    operands: 'SPEC DIR',
    words: { least: 2, most: 2 },
    options: [
      json,
      { name: 'writable', summary: 'allow writing; a chunked: file that does not exist is made' },
      {
        name: 'grants',
        value: 'FILE',
        summary: 'allow only what FILE says, one `fs.read /path` a line; a change of FILE takes effect at once',
      },
      { name: 'foreground', summary: 'serve it in this process, until it is unmounted or ended' },
      {
        name: 'jail',
        value: 'UID:GID:SHIFT',
        summary: 'internal, started by ctx exec --mount: serve the jail at the other end of descriptor 3',
      },
    ],
    details: [
      'Returns when it is mounted. One process serves it, and the mount ends with that process. As root, every user',
      'may use it; otherwise you alone. Links cannot lead out of the tree. What memory: held is gone with it.',
    ],
    examples: [
      'ctx vfs mount chunked:notes.ctx ~/notes --writable',
      'ctx vfs mount memory: /tmp/scratch --writable',
      'ctx vfs mount trees.toml ~/trees --writable',
    ],
    load: async () => (await loadMount()).mount,
  },
  {
    name: 'vfs unmount',
    summary: 'unmount a tree; what was written is on the disk when it returns',
    operands: 'DIR',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx vfs unmount ~/notes'],
    load: async () => (await import('../mounts/unmount.js')).unmountAt,
  },
];
