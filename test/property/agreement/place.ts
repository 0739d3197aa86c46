/** A random place to ask about: a project, what lies beside it, what is granted of that, and what a command did in the fork. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Random = () => number;

export function pick<T>(random: Random, from: readonly T[]): T {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new Error('expected something to choose from');
  return found;
}

const names = ['a', 'b', 'run', 'x y', 'é', '-n', '.dot', 'deep'];
const fileModes = [0o644, 0o755, 0o600, 0o444, 0o555, 0o000, 0o111, 0o200];
const directoryModes = [0o755, 0o755, 0o755, 0o755, 0o700, 0o555, 0o311];
/** Harmless where it is executed. */
const program = '#!/bin/sh\nexit 0\n';

function linkText(random: Random, beside: string): string {
  const to = pick(random, names);
  return pick(random, [
    to,
    `./${to}`,
    `../${to}`,
    'missing',
    join(beside, to),
    `${to}/../${to}`,
    'itself',
    '/etc/shadow',
  ]);
}

function fill(random: Random, directory: string, beside: string, depth: number): string[] {
  const made: string[] = [];
  const taken = new Set<string>();
  const count = 3 + Math.floor(random() * 5);
  for (let index = 0; index < count; index++) {
    const name = pick(random, [...names, 'itself']);
    if (taken.has(name)) continue;
    taken.add(name);
    const path = join(directory, name);
    made.push(path);
    const kind = random();
    if (kind < 0.25 && depth > 0) {
      mkdirSync(path);
      made.push(...fill(random, path, beside, depth - 1));
      chmodSync(path, pick(random, directoryModes));
    } else if (kind < 0.45) symlinkSync(name === 'itself' ? 'itself' : linkText(random, beside), path);
    else {
      writeFileSync(path, program);
      chmodSync(path, pick(random, fileModes));
    }
  }
  return made;
}

export interface AskedPlace {
  readonly project: string;
  readonly beside: string;
  readonly paths: readonly string[];
}

export function makePlace(random: Random, root: string): AskedPlace {
  const [project, beside] = [join(root, 'project'), join(root, 'beside')];
  for (const path of [root, project, beside]) mkdirSync(path, { mode: 0o755 });
  const paths = [...fill(random, project, beside, 2), ...fill(random, beside, project, 1)];
  return { project, beside, paths };
}

/** What is made, changed and taken away in the fork, by its names; what fails has changed nothing. */
export function workScript(random: Random): string {
  const target = () => `'${pick(random, names)}${random() < 0.3 ? `/${pick(random, names)}` : ''}'`;
  const works = [
    () => `rm -rf -- ./${target()}`,
    () => `mkdir -p -- ./${target()}`,
    () => `chmod ${pick(random, ['755', '644', '000', '111', '444'])} -- ./${target()}`,
    () => `ln -sfn -- '${pick(random, names)}' ./${target()}`,
    () => `printf '#!/bin/sh\\nexit 0\\n' > ./${target()}`,
  ];
  return Array.from({ length: 2 + Math.floor(random() * 5) }, () => `{ ${pick(random, works)()}; } 2> /dev/null`)
    .concat('true')
    .join('; ');
}
