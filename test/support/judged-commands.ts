/** Commands with the classes that a careful operator gave them: `CLASSES  TEXT` a line, in sections, of a file of test/vectors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { classesOf, classNames } from '../../src/shell/classes.js';
import { checkout } from './program.js';

export interface JudgedCommand {
  readonly section: string;
  readonly classes: readonly string[];
  readonly text: string;
}

export function judgedCommands(name: string): readonly JudgedCommand[] {
  let section = '';
  return readFileSync(join(checkout, 'test', 'vectors', name), 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('## ')) section = line.slice(3);
      const match = /^([rmdnhi]+) {2}(.*)$/.exec(line);
      if (match?.[1] === undefined || match[2] === undefined) return [];
      const text = match[2].replaceAll('␤', '\n').replaceAll('␍', '\r');
      return [{ section, classes: classNames(classesOf(match[1])), text }];
    });
}
