/**
 * Names of objects. An object `x` owns the files `x`, `x.sock` and `x.d`, so a name never ends in either suffix: it
 * would claim another object's files. A name is one path component and holds nothing a shell or a policy line reads.
 */
import { refuse } from './syntax.js';

const objectName = /^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}$/;

export const objectNameRule =
  'a name of 1 to 64 letters, digits, `.`, `_`, `+` or `-` that starts with a letter or digit and ends in neither `.sock` nor `.d`';
export const modelNameRule = `a model name \`provider/model\`, each part ${objectNameRule}`;

export function isObjectName(text: string): boolean {
  return objectName.test(text) && !text.endsWith('.sock') && !text.endsWith('.d');
}

export function isModelName(text: string): boolean {
  const slash = text.indexOf('/');
  return slash > 0 && isObjectName(text.slice(0, slash)) && isObjectName(text.slice(slash + 1));
}

export function parseObjectName(text: string): string {
  return isObjectName(text) ? text : refuse('object name', `expected ${objectNameRule}`);
}

/**
 * The name of a mount as a policy object: its target with `/` as `.`. A target that has no such name (the root, or
 * one with characters outside the grammar) cannot be granted by policy. Two targets may share a name (`/a/b`, `/a.b`):
 * an Authority whose policy grants such a name is refused.
 */
export function mountObjectName(target: string): string | undefined {
  const name = target.slice(1).replaceAll('/', '.');
  return isObjectName(name) ? name : undefined;
}
