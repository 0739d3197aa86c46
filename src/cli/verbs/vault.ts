/** `ctx vault ...`, `ctx gc`, `ctx fsck`, `ctx flatten`. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { pathFrom } from '../../base/path-from.js';
import { parseSize } from '../../base/size-text.js';
import { visible } from '../../base/visible-text.js';
import type { Problem } from '../../sdk/changes.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import {
  type FoundFault,
  type LimitChanges,
  type LimitedVault,
  type VaultSummary,
  Vaults,
} from '../../sdk/operator/vaults.js';
import { directoryAsked } from '../input/directory-asked.js';
import { forkHere } from '../input/fork-here.js';
import { parseCount } from '../input/parse-arguments.js';
import { counted, sizeText } from '../text/change-text.js';
import { painter, print, printError, printJson, terminal } from '../text/output.js';
import { progressLine } from '../text/progress.js';
import type { Arguments, Run } from '../verb.js';

function answer(call: Arguments, value: Readonly<Record<string, unknown>>, lines: readonly string[]): number {
  if (call.flag('json')) printJson({ version: 1, ...value });
  else for (const line of lines) print(`${line}\n`);
  return ExitCode.ok;
}

function tell(call: Arguments, problems: readonly Problem[]): void {
  if (call.flag('json')) return;
  const paint = painter(process.stderr);
  for (const { path, reason } of problems) {
    printError(`  ${paint('yellow', `left out: ${visible(path)} (${visible(reason)})`)}\n`);
  }
}

function lineOf({ id, name, origin, forks, layers, copied }: VaultSummary): string {
  return `  ${id}  ${name ?? '-'}  ${visible(origin)}  ${counted(forks.length, 'fork')}, ${counted(layers, 'layer')}${copied ? '' : ', not copied'}`;
}

const faultLine = ({ vault, what, where }: FoundFault) => `  ${vault}  ${visible(what)}: ${visible(where)}`;

function limitsOf(call: Arguments): LimitChanges {
  const given = (name: string, parse: (text: string) => number) => {
    const text = call.value(name);
    return text === 'none' ? null : text === undefined ? undefined : parse(text);
  };
  return {
    maxBytes: given('max-bytes', parseSize),
    maxFiles: given('max-files', (text) => parseCount(text, '--max-files', true)),
    maxFileBytes: given('max-file-bytes', parseSize),
  };
}

function limitLines({ limits, usage }: LimitedVault): readonly string[] {
  const { maxBytes, maxFiles, maxFileBytes } = limits;
  const most = (text: string | undefined) => (text === undefined ? '' : `, at most ${text}`);
  return [
    `  holds ${sizeText(usage.bytes)}${most(maxBytes === undefined ? undefined : sizeText(maxBytes))}`,
    `  holds ${counted(usage.inodes, 'file or directory', 'files and directories')}${most(maxFiles === undefined ? undefined : String(maxFiles))}`,
    ...(maxFileBytes === undefined ? [] : [`  a file of at most ${sizeText(maxFileBytes)}`]),
  ];
}

export const create: Run = async (call, host) => {
  const from = directoryAsked(call.value('from'));
  const progress = progressLine(terminal('stderr'), 'ctx: importing');
  try {
    const { outcome, vault, problems } = await new Vaults(await host()).create(from, {
      name: call.words[0],
      limits: limitsOf(call),
      exactly: call.value('from') !== undefined,
      uncopied: call.flag('no-copy') || call.flag('live'),
      onProgress: progress.update,
    });
    progress.clear();
    tell(call, problems);
    const word = outcome === 'there' ? 'there already' : outcome;
    const line = `${painter(process.stdout)('green', word)}${lineOf(vault)}`;
    return answer(call, { outcome, vault, problems }, [line]);
  } finally {
    progress.clear();
  }
};

export const sync: Run = async (call, host) => {
  const { entered, clashes, problems } = await (await forkHere(call, host)).sync();
  tell(call, problems);
  const lines = [`${counted(entered.length, 'path')} entered`, ...clashes.map((path) => `  clash ${visible(path)}`)];
  return answer(call, { entered, clashes, problems }, lines);
};

export const list: Run = async (call, host) => {
  const all = new Vaults(await host());
  const [vaults, faults] = [all.list(), all.faults()];
  answer(call, { vaults, faults }, [...vaults.map(lineOf), ...faults.map(faultLine)]);
  return faults.length === 0 ? ExitCode.ok : ExitCode.partly;
};

export const set: Run = async (call, host) => {
  const changes = limitsOf(call);
  const name = call.value('name');
  const isLimited = Object.values(changes).some((most) => most !== undefined);
  const isMoved = call.flag('moved');
  if (!isLimited && name === undefined && !isMoved) {
    const reason =
      'expected --name NAME, --moved, or --max-bytes, --max-files or --max-file-bytes with a number or none';
    throw new ErrnoError('EINVAL', { operation: 'vault set', reason, remedy: 'ctx vault info shows what is set' });
  }
  const vaults = new Vaults(await host());
  const found = vaults.find(call.words[0], currentDirectory());
  if (isMoved) await vaults.confirm(found.id);
  const vault = name === undefined ? found : await vaults.rename(found.id, name);
  const limited = isLimited ? await vaults.limit(vault.id, changes) : await vaults.limits(vault.id);
  return answer(call, { vault, ...limited }, [lineOf(vault), ...limitLines(limited)]);
};

export const info: Run = async (call, host) => {
  const vaults = new Vaults(await host());
  const vault = vaults.find(call.words[0], currentDirectory());
  const limited = await vaults.limits(vault.id);
  const { roots, forks, created } = vault;
  return answer(call, { vault, ...limited }, [
    lineOf(vault),
    `  made ${created}`,
    ...roots.map((root) => `  root ${visible(root)}`),
    ...forks.map((fork) => `  fork ${fork}`),
    ...limitLines(limited),
  ]);
};

export const exportTo: Run = async (call, host) => {
  const to = pathFrom(currentDirectory(), call.words[0] ?? '');
  const { problems } = await (await forkHere(call, host)).exportTo(to);
  tell(call, problems);
  return answer(call, { to, problems }, [`${painter(process.stdout)('green', 'exported')} to ${visible(to)}`]);
};

export const remove: Run = async (call, host) => {
  const vaults = new Vaults(await host());
  const { id, origin } = vaults.find(call.words[0], currentDirectory());
  await vaults.delete(id);
  return answer(call, { deleted: id, origin }, [
    `${painter(process.stdout)('green', 'deleted')} the vault of ${visible(origin)}`,
  ]);
};

export const gc: Run = async (call, host) => {
  const collected = await new Vaults(await host()).collect();
  const gone = collected.reduce((sum, { layers }) => sum + layers.length, 0);
  const busy = collected.flatMap((each) => each.busy);
  const note = busy.length === 0 ? '' : `; in use, and left alone: ${busy.join(', ')}`;
  const faults = collected.flatMap(({ vault, fault }) => (fault === undefined ? [] : [{ vault, ...fault }]));
  answer(call, { collected }, [...faults.map(faultLine), `${counted(gone, 'layer')} deleted${note}`]);
  return faults.length === 0 ? ExitCode.ok : ExitCode.partly;
};

export const fsck: Run = async (call, host) => {
  const inspected = await new Vaults(await host()).inspect({ repair: call.flag('repair') });
  const { format, vaults, faults, repaired, freeing } = inspected;
  const done = repaired.map(({ vault, what }) => `  ${vault}  repaired: ${visible(what)}`);
  const lines = faults.map(faultLine);
  const left = freeing === 0 ? '' : `; ${counted(freeing, 'deleted directory', 'deleted directories')} to be freed`;
  answer(call, { format, vaults, faults, repaired, freeing }, [
    ...done,
    ...lines,
    `store format ${format}: ${counted(vaults, 'vault')}, ${counted(faults.length, 'fault')}${left}`,
  ]);
  return faults.length === 0 ? ExitCode.ok : ExitCode.failed;
};

export const migrate: Run = async (call, host) => {
  const vaults = new Vaults(await host());
  if (!call.flag('undo')) {
    const found = vaults.format();
    const { store, format, migrated } = found;
    const undo = 'until the next command, --undo takes the migration back';
    return answer(call, { ...found }, [
      `${visible(store)}: format ${format}`,
      ...(migrated === null ? [] : [`migrated from format ${migrated}; ${undo}`]),
    ]);
  }
  const { store, format } = await vaults.undoMigration();
  return answer(call, { store, format, migrated: null }, [
    `${painter(process.stdout)('green', 'undone')}: ${visible(store)} is of format ${format} again`,
    'use the ctx that wrote it: the next verb of this one migrates it again',
  ]);
};

export const flatten: Run = async (call, host) => {
  const { before, after } = await (await forkHere(call, host)).flatten();
  return answer(call, { before, after }, [`${counted(before, 'layer')} became ${after}`]);
};
