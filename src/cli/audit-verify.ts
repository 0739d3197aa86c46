/** `ctx audit verify`: does the record hold, and what does that mean. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileAnchor } from '../audit/anchor/file-anchor.js';
import { anchorsOf, rootAnchor } from '../audit/anchors-of.js';
import { directoryReader, type RecordReader } from '../audit/reader.js';
import { type Finding, type Verification, verify } from '../audit/verify.js';
import { ErrnoError, ExitCode, hasCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import type { Host } from '../proxy/host.js';
import { counted } from './change-text.js';
import { type Paint, painter, printJson } from './output.js';
import type { Arguments, Run } from './verb.js';

function where({ chain, seq, segment, line }: Finding): string {
  const record = seq === undefined ? chain : `${chain}:${seq}`;
  return segment === undefined ? record : `${record} (${segment}, line ${line})`;
}

function text(verification: Verification, paint: Paint): string {
  const { ok, problems, warnings, chains, proves, cannot } = verification;
  const width = Math.max(...chains.map(({ chain }) => chain.length));
  const bad = new Set(problems.map(({ chain }) => chain));
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
  const lines = [
    ...problems.map((problem) => `${paint('red', 'BAD')} ${where(problem)}: ${visible(problem.text)}`),
    ...warnings.map((warning) => `${paint('yellow', 'note')} ${where(warning)}: ${visible(warning.text)}`),
    ...chains.map(({ chain, records, sealed }) => {
      const mark = bad.has(chain) ? paint('red', '✗') : paint('green', '✓');
      return `${mark} ${chain.padEnd(width)}  ${counted(records, 'record')}, sealed up to ${sealed}`;
    }),
    ok ? paint('green', 'The record holds.') : paint('red', 'The record does not hold.'),
    ...list('This proves:', proves),
    ...list('It cannot prove:', cannot),
  ];
  return `${lines.join('\n')}\n`;
}

/** An export brings the root that it was anchored with. */
function anchorsFor(call: Arguments, host: Host) {
  const exported = call.value('record');
  return exported === undefined ? anchorsOf(host.audit) : [fileAnchor(join(exported, 'root.jsonl'), rootAnchor)];
}

/** The key that is asked for, else the one that the software root was first given. */
function trusted(call: Arguments, host: Host): readonly string[] {
  const given = call.value('key');
  if (given !== undefined) {
    if (/^[0-9a-f]{64}$/.test(given)) return [given];
    throw new ErrnoError('EINVAL', {
      operation: 'ctx audit verify',
      reason: 'expected --key as 64 hexadecimal digits',
    });
  }
  if (call.value('record') !== undefined) return [];
  try {
    const [first = ''] = readFileSync(host.audit.root, 'utf8').split('\n');
    const { root } = JSON.parse(first) as { root?: unknown };
    return typeof root === 'string' ? [root] : [];
  } catch (error) {
    if (hasCode(error, 'ENOENT') || error instanceof SyntaxError) return [];
    throw error;
  }
}

const attempts = 5;

/** Others may be writing while we read, and half of what they write looks like tampering: what fails then is read again. */
function settled(reader: RecordReader, ask: () => Verification): Verification {
  const sizes = () =>
    reader.chains().map((chain) =>
      reader
        .files(chain)
        .map((file) => `${file} ${reader.read(chain, file).length}`)
        .join(),
    );
  for (let attempt = 1; ; attempt += 1) {
    const before = sizes().join();
    const answer = ask();
    if (answer.ok || attempt === attempts || sizes().join() === before) return answer;
  }
}

export const run: Run = async (call, hostOf) => {
  const host = await hostOf();
  const reader = directoryReader(call.value('record') ?? host.audit.record);
  if (reader.chains().length === 0) {
    throw new ErrnoError('ENOENT', {
      operation: 'ctx audit verify',
      path: call.value('record') ?? host.audit.record,
      reason: 'there is no record here',
    });
  }
  const verification = settled(reader, () =>
    verify({ reader, anchors: anchorsFor(call, host), trusted: trusted(call, host) }),
  );
  if (call.flag('json')) printJson(verification);
  else process.stdout.write(text(verification, painter(process.stdout)));
  return verification.ok ? ExitCode.ok : ExitCode.failed;
};
