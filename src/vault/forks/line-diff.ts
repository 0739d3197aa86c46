/**
 * Two texts as a unified diff. Pure. The shortest edit by Myers' greedy search; where the texts have almost nothing in
 * common the search is cut off and the whole middle is replaced, so that a hostile file costs bounded time.
 */

export interface LineEdit {
  readonly kind: 'same' | 'removed' | 'added';
  readonly line: string;
}

/** Edits searched for before giving up on the shortest: the cost grows with the square of this. */
const searchedEdits = 2_000;
const contextLines = 3;

/** Lines with their ends; the last may lack one. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function replaceAll(before: readonly string[], after: readonly string[]): LineEdit[] {
  return [
    ...before.map((line): LineEdit => ({ kind: 'removed', line })),
    ...after.map((line): LineEdit => ({ kind: 'added', line })),
  ];
}

/** The furthest x on each diagonal, kept for every number of edits so that the path can be walked back. */
function search(before: readonly string[], after: readonly string[]): Int32Array[] | undefined {
  const most = Math.min(before.length + after.length, searchedEdits);
  const middle = most + 1;
  const furthest = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const left = furthest[middle + diagonal - 1] ?? 0;
      const right = furthest[middle + diagonal + 1] ?? 0;
      const down = diagonal === -edits || (diagonal !== edits && left < right);
      let x = down ? right : left + 1;
      let y = x - diagonal;
      while (x < before.length && y < after.length && before[x] === after[y]) {
        x += 1;
        y += 1;
      }
      furthest[middle + diagonal] = x;
      if (x >= before.length && y >= after.length) {
        trace.push(furthest.slice(middle - edits - 1, middle + edits + 2));
        return trace;
      }
    }
    trace.push(furthest.slice(middle - edits - 1, middle + edits + 2));
  }
  return undefined;
}

function walkBack(trace: readonly Int32Array[], before: readonly string[], after: readonly string[]): LineEdit[] {
  const edits: LineEdit[] = [];
  let x = before.length;
  let y = after.length;
  for (let step = trace.length - 1; step > 0; step -= 1) {
    const previous = trace[step - 1] ?? new Int32Array();
    const at = (diagonal: number) => previous[diagonal + step] ?? 0;
    const diagonal = x - y;
    const down = diagonal === -step || (diagonal !== step && at(diagonal - 1) < at(diagonal + 1));
    const fromX = down ? at(diagonal + 1) : at(diagonal - 1);
    const fromY = fromX - (down ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY && x > 0 && y > 0 && before[x - 1] === after[y - 1]) {
      x -= 1;
      y -= 1;
      edits.push({ kind: 'same', line: before[x] ?? '' });
    }
    if (down) {
      y -= 1;
      edits.push({ kind: 'added', line: after[y] ?? '' });
    } else {
      x -= 1;
      edits.push({ kind: 'removed', line: before[x] ?? '' });
    }
  }
  while (x > 0) {
    x -= 1;
    edits.push({ kind: 'same', line: before[x] ?? '' });
  }
  return edits.reverse();
}

export function lineEdits(before: readonly string[], after: readonly string[]): readonly LineEdit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const [a, b] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const trace = search(a, b);
  const same = (line: string): LineEdit => ({ kind: 'same', line });
  return [
    ...before.slice(0, start).map(same),
    ...(trace === undefined ? replaceAll(a, b) : walkBack(trace, a, b)),
    ...before.slice(before.length - end).map(same),
  ];
}

export interface Hunk {
  readonly beforeStart: number;
  readonly beforeCount: number;
  readonly afterStart: number;
  readonly afterCount: number;
  readonly edits: readonly LineEdit[];
}

/** The changed places with the lines around them, as `diff -u` cuts them. */
export function hunks(edits: readonly LineEdit[]): readonly Hunk[] {
  const near = new Set<number>();
  edits.forEach(({ kind }, index) => {
    if (kind === 'same') return;
    for (let around = index - contextLines; around <= index + contextLines; around += 1) near.add(around);
  });
  const found: Hunk[] = [];
  let beforeLine = 1;
  let afterLine = 1;
  let open: { start: [number, number]; edits: LineEdit[] } | undefined;
  const close = () => {
    if (open === undefined) return;
    const beforeCount = open.edits.filter(({ kind }) => kind !== 'added').length;
    const afterCount = open.edits.filter(({ kind }) => kind !== 'removed').length;
    const [before, after] = open.start;
    // An empty side is numbered by the line before it.
    const beforeStart = beforeCount === 0 ? before - 1 : before;
    const afterStart = afterCount === 0 ? after - 1 : after;
    found.push({ beforeStart, beforeCount, afterStart, afterCount, edits: open.edits });
    open = undefined;
  };
  edits.forEach((edit, index) => {
    if (near.has(index)) {
      open ??= { start: [beforeLine, afterLine], edits: [] };
      open.edits.push(edit);
    } else {
      close();
    }
    if (edit.kind !== 'added') beforeLine += 1;
    if (edit.kind !== 'removed') afterLine += 1;
  });
  close();
  return found;
}
