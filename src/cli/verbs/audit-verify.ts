/** `ctx audit verify`: does the record hold, and what does that mean. */
import { ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { AuditRecord, type Finding, type Verification } from '../../sdk/operator/record.js';
import { counted } from '../text/change-text.js';
import { type Paint, painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

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
    ok ? paint('green', 'The record is intact.') : paint('red', 'The record is not intact.'),
    ...list('This proves:', proves),
    ...list('It cannot prove:', cannot),
  ];
  return `${lines.join('\n')}\n`;
}

export const run: Run = async (call, hostOf) => {
  const record = new AuditRecord(await hostOf(), { directory: call.value('record') });
  const verification = await record.verify({ key: call.value('key') });
  if (call.flag('json')) printJson(verification);
  else print(text(verification, painter(process.stdout)));
  return verification.ok ? ExitCode.ok : ExitCode.failed;
};
