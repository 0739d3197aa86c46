/** A file of JSON lines, one a point, only ever appended to: `chattr +a`, another mount or another machine make it stronger. */
import { closeSync, fstatSync, fsyncSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../base/atomic-file.js';
import { canonicalJson } from '../../base/canonical-json.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { makeDurableDirectory } from '../../base/make-directory.js';
import { having, integer, parsedAs, text } from '../../base/shape.js';
import { writeWhole } from '../../base/write-whole.js';
import type { Anchor, AnchorPoint, AnchorState } from '../anchor.js';

const pointShape = having({ counter: integer(0), seq: integer(0), head: text, root: text });

export function parsePoints(points: string, path: string): readonly AnchorPoint[] {
  return points
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => {
      const point = parsedAs<AnchorPoint>(line, pointShape);
      if (point !== undefined) return point;
      throw new ErrnoError('EIO', { operation: 'anchor', path, reason: `expected a point in line ${index + 1}` });
    });
}

export function fileAnchor(path: string, name = `file:${path}`): Anchor {
  const points = () => {
    try {
      return parsePoints(readFileSync(path, 'utf8'), path);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw fromSystemError(error, 'anchor', path);
    }
  };
  return {
    name,
    next: () => (points().at(-1)?.counter ?? 0) + 1,
    commit(point) {
      try {
        makeDurableDirectory(dirname(path));
        const descriptor = openSync(path, 'a', 0o600);
        try {
          const isNew = fstatSync(descriptor).size === 0;
          writeWhole(descriptor, Buffer.from(`${canonicalJson({ ...point })}\n`));
          fsyncSync(descriptor);
          if (isNew) syncDirectory(dirname(path));
        } finally {
          closeSync(descriptor);
        }
      } catch (error) {
        throw fromSystemError(error, 'anchor', path);
      }
    },
    read(): AnchorState {
      const found = points();
      return found.length === 0 ? { kind: 'empty' } : { kind: 'points', points: found };
    },
  };
}
