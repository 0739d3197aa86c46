/**
 * Archives that are the same bytes for the same contents: entries sorted, no times, no owners. Pure. An entry is
 * `{ path, bytes, mode }`, or `{ path, link }`.
 */
import { gzipSync } from 'node:zlib';

const block = 512;

function octal(value, length) {
  return `${value.toString(8).padStart(length - 1, '0')}\0`;
}

function padded(bytes, size) {
  const rest = bytes.length % size;
  return rest === 0 ? [bytes] : [bytes, Buffer.alloc(size - rest)];
}

/** A name of more than 100 bytes is cut in two at a slash, as the format has it. */
function nameFields(path) {
  if (Buffer.byteLength(path) <= 100) return [path, ''];
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    if (at <= 155 && Buffer.byteLength(path.slice(at + 1)) <= 100) return [path.slice(at + 1), path.slice(0, at)];
  }
  throw new Error(`too long for an archive: ${path}`);
}

function header({ path, bytes = Buffer.alloc(0), mode = 0o644, link, time = 0 }, type) {
  const head = Buffer.alloc(block);
  const [name, prefix] = nameFields(path);
  const put = (text, at) => head.write(text, at, 'utf8');
  put(name, 0);
  put(octal(mode, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(bytes.length, 12), 124);
  put(octal(time, 12), 136);
  put('        ', 148);
  put(type, 156);
  if (link !== undefined) put(link, 157);
  put('ustar\x0000', 257);
  put('root', 265);
  put('root', 297);
  put(prefix, 345);
  const sum = head.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return head;
}

/** `directories`: for archives that are unpacked as they are, where each has to be named before what is in it. */
export function tar(entries, { directories = false, time = 0 } = {}) {
  const sorted = [...entries].sort((left, right) => (left.path < right.path ? -1 : 1));
  const parts = [];
  const seen = new Set();
  for (const entry of sorted) {
    if (directories) {
      const above = entry.path.split('/').slice(0, -1);
      above.forEach((_name, index) => {
        const path = `${above.slice(0, index + 1).join('/')}/`;
        if (path === './' || seen.has(path)) return;
        seen.add(path);
        parts.push(header({ path, mode: 0o755, time }, '5'));
      });
    }
    const dated = { ...entry, time };
    if (entry.link === undefined) parts.push(header(dated, '0'), ...padded(entry.bytes, block));
    else parts.push(header({ ...dated, mode: 0o777 }, '2'));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

export function gzip(bytes) {
  return gzipSync(bytes, { level: 9 });
}

/** The outer form of a Debian package. */
export function ar(members, time = 0) {
  const parts = [Buffer.from('!<arch>\n')];
  for (const { name, bytes } of members) {
    const fields = [
      [name, 16],
      [time, 12],
      [0, 6],
      [0, 6],
      ['100644', 8],
      [bytes.length, 10],
    ];
    parts.push(Buffer.from(`${fields.map(([value, width]) => `${value}`.padEnd(width)).join('')}\`\n`), bytes);
    if (bytes.length % 2 === 1) parts.push(Buffer.from('\n'));
  }
  return Buffer.concat(parts);
}
