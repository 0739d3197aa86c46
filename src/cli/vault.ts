/** `ctx vault ...`, `ctx gc`, `ctx fsck`, `ctx flatten`. */
import { resolve } from 'node:path';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import type { ForkRequest } from '../proxy/fork-verbs.js';
import {
  changedLimits,
  type LimitChanges,
  type LimitedVault,
  limitsOfVault,
  limitVault,
} from '../proxy/vault-limit-verbs.js';
import {
  collectStore,
  deleteVault,
  exportFork,
  flattenFork,
  inspectStore,
  listVaults,
  makeVault,
  syncVault,
  type VaultSummary,
  vaultNamed,
} from '../proxy/vault-verbs.js';
import type { Problem } from '../vault/tree.js';
import { counted, sizeText } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import { parseCount, parseSize } from './parse-arguments.js';
import { progressLine } from './progress.js';
import type { Arguments, Run } from './verb.js';

function requestOf(call: Arguments): ForkRequest {
  return { cwd: currentDirectory(), wait: call.flag('wait'), fork: call.value('fork') };
}

function answer(call: Arguments, value: Readonly<Record<string, unknown>>, lines: readonly string[]): number {
  if (call.flag('json')) printJson({ version: 1, ...value });
  else for (const line of lines) process.stdout.write(`${line}\n`);
  return ExitCode.ok;
}

function tell(call: Arguments, problems: readonly Problem[]): void {
  if (call.flag('json')) return;
  const paint = painter(process.stderr);
  for (const { path, reason } of problems) {
    process.stderr.write(`  ${paint('yellow', `left out: ${visible(path)} (${visible(reason)})`)}\n`);
  }
}

function lineOf({ id, name, origin, forks, layers, copied }: VaultSummary): string {
  return `  ${id}  ${name ?? '-'}  ${visible(origin)}  ${counted(forks.length, 'fork')}, ${counted(layers, 'layer')}${copied ? '' : ', not copied'}`;
}

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
    `  holds ${counted(usage.inodes, 'file')}${most(maxFiles === undefined ? undefined : String(maxFiles))}`,
    ...(maxFileBytes === undefined ? [] : [`  a file of at most ${sizeText(maxFileBytes)}`]),
  ];
}

export const create: Run = async (call, host) => {
  const from = resolve(currentDirectory(), call.value('from') ?? '.');
  const progress = progressLine(process.stderr, 'ctx: importing');
  try {
    const { update: onProgress } = progress;
    const limits = changedLimits(undefined, limitsOf(call));
    const more = {
      onProgress,
      uncopied: call.flag('no-copy'),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
    };
    const { vault, problems } = await makeVault(await host(), from, call.words[0], more);
    progress.clear();
    tell(call, problems);
    return answer(call, { vault, problems }, [`${painter(process.stdout)('green', 'made')}${lineOf(vault)}`]);
  } finally {
    progress.clear();
  }
};

export const sync: Run = async (call, host) => {
  const { entered, clashes, problems } = await syncVault(await host(), requestOf(call));
  tell(call, problems);
  const lines = [`${counted(entered.length, 'path')} entered`, ...clashes.map((path) => `  clash ${visible(path)}`)];
  return answer(call, { entered, clashes, problems }, lines);
};

export const list: Run = async (call, host) => {
  const vaults = listVaults(await host());
  return answer(call, { vaults }, vaults.map(lineOf));
};

export const set: Run = async (call, host) => {
  const changes = limitsOf(call);
  if (Object.values(changes).every((most) => most === undefined)) {
    const reason = 'expected --max-bytes, --max-files or --max-file-bytes, each with a number or none';
    throw new ErrnoError('EINVAL', { operation: 'vault set', reason, remedy: 'ctx vault info shows the limits' });
  }
  const vault = vaultNamed(await host(), currentDirectory(), call.words[0]);
  const limited = await limitVault(await host(), vault.id, changes);
  return answer(call, { vault, ...limited }, [lineOf(vault), ...limitLines(limited)]);
};

export const info: Run = async (call, host) => {
  const vault = vaultNamed(await host(), currentDirectory(), call.words[0]);
  const limited = await limitsOfVault(await host(), vault.id);
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
  const to = resolve(currentDirectory(), call.words[0] ?? '');
  const { problems } = await exportFork(await host(), requestOf(call), to);
  tell(call, problems);
  return answer(call, { to, problems }, [`${painter(process.stdout)('green', 'exported')} to ${visible(to)}`]);
};

export const remove: Run = async (call, host) => {
  const { id, origin } = vaultNamed(await host(), currentDirectory(), call.words[0]);
  await deleteVault(await host(), id);
  return answer(call, { deleted: id, origin }, [
    `${painter(process.stdout)('green', 'deleted')} the vault of ${visible(origin)}`,
  ]);
};

export const gc: Run = async (call, host) => {
  const collected = await collectStore(await host());
  const gone = collected.reduce((sum, { layers }) => sum + layers.length, 0);
  const busy = collected.flatMap((each) => each.busy);
  const note = busy.length === 0 ? '' : `; in use, and left alone: ${busy.join(', ')}`;
  return answer(call, { collected }, [`${counted(gone, 'layer')} deleted${note}`]);
};

export const fsck: Run = async (call, host) => {
  const { vaults, faults } = inspectStore(await host());
  const lines = faults.map(({ vault, what, where }) => `  ${vault}  ${what}: ${visible(where)}`);
  answer(call, { vaults, faults }, [...lines, `${counted(vaults, 'vault')}, ${counted(faults.length, 'fault')}`]);
  return faults.length === 0 ? ExitCode.ok : ExitCode.failed;
};

export const flatten: Run = async (call, host) => {
  const { before, after } = await flattenFork(await host(), requestOf(call));
  return answer(call, { before, after }, [`${counted(before, 'layer')} became ${after}`]);
};
