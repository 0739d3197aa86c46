/** `ctx trust`: what a project asks for, as sentences, and a person's yes or no to exactly that. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { type ProjectReading, Trust } from '../../sdk/operator/trust.js';
import { openTerminal } from '../input/ask-approval.js';
import { painter, print, printError, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

/** Blanks that a terminal wraps would push what else is asked for out of sight, or stand for lines of ours. */
function line(sentence: string): string {
  return visible(sentence).replace(/ {2,}/g, (blanks) => ` ${'\\u0020'.repeat(blanks.length - 1)}`);
}

function shown({ origin, file, digest, sentences }: ProjectReading): string {
  const paint = painter(process.stdout);
  const lines = sentences.map((sentence) => `  ${line(sentence)}\n`).join('');
  const what = sentences.length === 0 ? 'asks for nothing' : 'lets every command here, without flags:';
  return `${paint('bold', visible(origin))}: ${file} ${what}\n${lines}  ${paint('dim', `digest ${digest}`)}\n`;
}

/** An end of the input is a no, and so is what was typed before the question. */
async function answer(): Promise<boolean> {
  const input = await openTerminal().catch(() => {
    throw unasked();
  });
  const lines = createInterface({ input, output: process.stderr, terminal: false });
  try {
    const ended = once(lines, 'close').then(() => '');
    return /^y(es)?$/i.test((await Promise.race([lines.question('Confirm? [y]es, [N]o: '), ended])).trim());
  } finally {
    lines.close();
    input.destroy();
  }
}

function unasked(): ErrnoError {
  return new ErrnoError('EINVAL', {
    operation: 'trust',
    reason: 'expected a terminal to ask at, or --digest with the digest of what you have read',
    remedy: 'ctx trust --show prints both',
  });
}

export const run: Run = async (call, hostOf) => {
  const trust = new Trust(await hostOf());
  const directory = currentDirectory();
  const json = call.flag('json');
  if (call.flag('revoke')) {
    const revoked = trust.revoke(directory);
    if (json) printJson({ version: 1, revoked });
    else print(revoked ? 'it is not accepted any more\n' : 'nothing was confirmed here\n');
    return ExitCode.ok;
  }
  const reading = await trust.read(directory);
  const digest = call.value('digest');
  if (!json) print(shown(reading));
  if (!call.flag('show') && (digest !== undefined || !reading.confirmed)) {
    if (digest === undefined && (json || process.stdin.isTTY !== true)) throw unasked();
    // A yes is to what was seen: where stdout is something else, it is shown beside the question.
    if (digest === undefined && process.stdout.isTTY !== true) printError(shown(reading));
    if (digest === undefined && !(await answer())) {
      printError('not confirmed: commands here run without it\n');
      return ExitCode.denied;
    }
    await trust.confirm(directory, digest ?? reading.digest);
  }
  const confirmed = reading.confirmed || !call.flag('show');
  if (json) printJson({ version: 1, ...reading, confirmed });
  else print(confirmed ? `confirmed\n` : `not confirmed: commands here run without it\n`);
  return ExitCode.ok;
};
