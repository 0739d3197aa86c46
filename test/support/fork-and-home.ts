/** What differs between a fork and the person's directory after an apply, but for what the answer names as staying. */
import type { Stage } from './stage.js';

/** Kinds, targets of links and digests; times and modes are left out. Names may hold anything. */
const listing = `{ find . ! -type f -printf '%y %l\\0./%P\\0'; find . -type f -print0 | xargs -0r sha1sum -z | sed -z 's/  /\\x00/'; } | base64 -w0`;

function entries(encoded: string): ReadonlyMap<string, string> {
  const fields = Buffer.from(encoded, 'base64').toString('latin1').split('\0').slice(0, -1);
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) found.set((fields[at + 1] ?? '').slice(2), fields[at] ?? '');
  return found;
}

type Named = string | { readonly path: string };

export async function differing(
  stage: Stage,
  project: string,
  answer: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const home = entries(stage.shell(project, listing));
  const fork = entries((await stage.ctx(project, ['exec', '--wait', '--', 'sh', '-c', listing])).stdout);
  const lists = ['heldBack', 'withheld', 'problems', 'conflicts'].map((key) => answer[key] as readonly Named[]);
  const named = new Set(
    lists.flat().map((each) => Buffer.from(typeof each === 'string' ? each : each.path).toString('latin1')),
  );
  const isNamed = (path: string): boolean =>
    named.has(path) || (path.includes('/') && isNamed(path.slice(0, path.lastIndexOf('/'))));
  const all = new Set([...home.keys(), ...fork.keys()]);
  return [...all].filter((path) => home.get(path) !== fork.get(path) && !isNamed(path));
}
