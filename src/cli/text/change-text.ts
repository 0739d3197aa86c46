/** A change list as people read it. Pure; names come from agents, so they are shown escaped. */
import { visible } from '../../base/visible-text.js';
import { type CommandChange, isRepositoryData } from '../../sdk/changes.js';
import type { Paint } from './output.js';

const marks = {
  added: ['green', 'A'],
  modified: ['yellow', 'M'],
  deleted: ['red', 'D'],
  restored: ['dim', 'R'],
} as const;

export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

function remark({ kind, type, size, content, mode, unlisted, renamedFrom }: CommandChange): string {
  if (unlisted !== undefined) return `${unlisted} or more entries below it, too many or too deep to list`;
  if (kind === 'modified' && !content) return `mode ${mode.toString(8)}`;
  if (type === 'directory') return '';
  if (type !== 'file') return type;
  if (kind === 'deleted' || kind === 'restored') return '';
  return renamedFrom === undefined ? sizeText(size) : `${sizeText(size)}, renamed from ${visible(renamedFrom)}`;
}

/** Git's bookkeeping is one line to people: who commits does not think of the object database. */
function repositoryLine(changes: readonly CommandChange[], paint: Paint): string[] {
  return changes.length === 0
    ? []
    : [`  ${paint('yellow', 'M .git/')}  ${paint('dim', counted(changes.length, 'path'))}`];
}

const nameCharacters = 500;

/** In a list that is cut, so is a path that would fill the screen. */
function nameOf(path: string, most: number): string {
  if (path.length <= nameCharacters || most === Number.POSITIVE_INFINITY) return visible(path);
  const half = nameCharacters / 2;
  return `${visible(path.slice(0, half))} ... ${visible(path.slice(-half))}`;
}

/** `where` shows those that are more than `most`; empty: nothing does. */
export function changeLines(
  all: readonly CommandChange[],
  paint: Paint,
  most = Number.POSITIVE_INFINITY,
  where = ': ctx diff',
): string[] {
  const changes = all.filter((change) => !isRepositoryData(change));
  const repository = all.filter(isRepositoryData);
  const lines = changes.slice(0, most).map((change) => {
    const [colour, letter] = marks[change.kind];
    const name = `${nameOf(change.path, most)}${change.type === 'directory' ? '/' : ''}`;
    const note = remark(change);
    return `  ${paint(colour, `${letter} ${name}`)}${note === '' ? '' : `  ${paint('dim', note)}`}`;
  });
  const rest = changes.length > most ? [paint('dim', `  and ${changes.length - most} more${where}`)] : [];
  return [...repositoryLine(repository, paint), ...lines, ...rest];
}

export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** Said with what was read beside commands that ran. */
export function incompleteText(running: readonly { readonly pid: number; readonly command: string }[]): string {
  const commands = running.map(({ pid, command }) => `${visible(command)} (process ${pid})`).join(', ');
  return `ctx: still running: ${commands}; its changes may be incomplete`;
}
