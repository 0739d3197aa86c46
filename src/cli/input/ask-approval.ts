/**
 * A command that waits for an approval, shown to anyone who is at the terminal. What an agent wrote is shown escaped.
 */

import { constants, openSync, readSync } from 'node:fs';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline/promises';
import { ReadStream } from 'node:tty';
import { openTyped } from '../../base/carried-terminal.js';
import { fromSystemError, hasCode } from '../../base/errno.js';
import { approvalPathsShown } from '../../base/limits/decisions.js';
import { harmlessOutput, visible, visibleCommand } from '../../base/visible-text.js';
import type { Host } from '../../sdk/host.js';
import { type Asked, type Spoken, terminalTurn } from '../../sdk/operator/approvals.js';
import type { Paint } from '../text/output.js';
import { printError } from '../text/output.js';

/** As a shell would read it, so that a name can be taken for nothing else. */
const quotedPath = (path: string) => `'${visible(path).replaceAll("'", "'\\''")}'`;

/** `action path`, with the path quoted. */
function stepLine(step: string): string {
  const space = step.indexOf(' ');
  return `    ${visible(step.slice(0, space))} ${quotedPath(step.slice(space + 1))}`;
}

/** All that the answer will hold for; of many paths the first, where not all are wanted. */
export function askedLines(
  { id, agent, argv, directory, categories, reason, shown, steps: count = 0 }: Asked,
  paint: Paint,
  steps: readonly string[] = [],
  most = approvalPathsShown,
): readonly string[] {
  const who = agent === null ? 'a command' : `agent ${visible(agent)}`;
  const left = count - Math.min(most, steps.length);
  return [
    `${paint('bold', 'ctx')}  ${who} asks for approval ${paint('bold', id)}`,
    `  ${visibleCommand(argv)}`,
    `  ${paint('dim', 'in')} ${visible(directory)}`,
    ...shown.map((line) => `  ${visible(line)}`),
    `  ${paint('yellow', categories.join(', '))}: ${visible(reason)}`,
    ...steps.slice(0, most).map(stepLine),
    ...(left > 0 ? [`    ${left === count ? 'all' : `and ${left} more`}: ctx approvals show ${id}`] : []),
  ];
}

/** What is asked, and where it can be answered. */
export function waitingText(asked: Asked, paint: Paint): string {
  const until = new Date(asked.expiresAt).toISOString().slice(11, 19);
  const elsewhere = `  ${paint('dim', `ctx approvals grant ${asked.id}, or deny; denied at ${until} UTC`)}`;
  return `${[...askedLines(asked, paint), elsewhere].join('\n')}\n`;
}

const answers: Readonly<Record<string, Spoken>> = {
  y: { granted: true, scope: 'once', network: [] },
  w: { granted: true, scope: 'once', network: ['any'] },
  s: { granted: true, scope: 'session', network: [] },
  a: { granted: true, scope: 'rule', network: [] },
};

const no: Spoken = { granted: false, scope: 'once', network: [] };

/** Anything that is not a clear yes is a no. */
function spokenAnswer(line: string): Spoken {
  const word = line.trim().toLowerCase();
  return (Object.hasOwn(answers, word) ? answers[word] : undefined) ?? no;
}

/**
 * What was typed before the question is not an answer to it: it was meant for something else, perhaps for a command
 * that asked and did not read, or it is what a terminal says by itself to what a command printed.
 */
function forgetTyped(input: ReadStream, descriptor: number): void {
  // Also what has no end of a line yet.
  input.setRawMode(true);
  try {
    while (readSync(descriptor, Buffer.alloc(4_096)) > 0);
  } catch (error) {
    if (!hasCode(error, 'EAGAIN')) throw error;
  } finally {
    input.setRawMode(false);
  }
}

function openDevice(): number {
  try {
    return openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw fromSystemError(error, 'ask at the terminal', '/dev/tty');
  }
}

/** The terminal itself, not stdin: that may be a command's. ENXIO where this process has none, as after setsid. */
export async function openTerminal(): Promise<Socket> {
  const carried = openTyped();
  if (carried !== undefined) return new (await import('node:net')).Socket({ fd: carried, readable: true });
  const descriptor = openDevice();
  const input = new ReadStream(descriptor);
  forgetTyped(input, descriptor);
  return input;
}

async function askAtTerminal(question: string, signal: AbortSignal): Promise<string | undefined> {
  const input = await openTerminal();
  const lines = createInterface({ input, output: process.stderr, terminal: false });
  try {
    return await lines.question(harmlessOutput(question), { signal });
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return undefined;
    throw error;
  } finally {
    lines.close();
    input.destroy();
  }
}

function choicesFor(asked: Asked): Readonly<Record<'network' | 'lasting' | 'always', boolean>> {
  return {
    network: asked.categories.includes('networked') && !asked.connected,
    lasting: !asked.onceOnly,
    always: asked.words.length > 0 && !asked.onceOnly,
  };
}

/** What the person at the terminal is asked. */
export function questionFor(asked: Asked): string {
  const { network, lasting, always } = choicesFor(asked);
  const more = `${network ? ', [w]ith network' : ''}${lasting ? ', [s]ession' : ''}${always ? ', [a]lways' : ''}`;
  // On a line of its own: what another command prints meanwhile may clear the line of the answer.
  return `  Run it (${asked.id})?\n  [y]es once${more}, [N]o: `;
}

/** An answer that was not offered counts as no. */
export function answerOf(line: string, asked: Asked): Spoken {
  const { network, lasting, always } = choicesFor(asked);
  const spoken = spokenAnswer(line);
  return (spoken.scope === 'session' && !lasting) ||
    (spoken.scope === 'rule' && !always) ||
    (spoken.network.length > 0 && !network)
    ? no
    : spoken;
}

export async function askApproval(
  host: () => Promise<Host>,
  asked: Asked,
  signal: AbortSignal,
  paint: Paint,
): Promise<Spoken | undefined> {
  if (process.stderr.isTTY !== true) {
    printError(waitingText(asked, paint));
    return undefined;
  }
  const turn = await terminalTurn(await host(), signal);
  if (turn === undefined) return undefined;
  try {
    // Also what is answered elsewhere: it must not come between another question and its answer.
    printError(waitingText(asked, paint));
    if (process.stdin.isTTY !== true) return undefined;
    const line = await askAtTerminal(questionFor(asked), signal);
    if (line !== undefined) return answerOf(line, asked);
    printError('\n');
    return undefined;
  } finally {
    turn.end();
  }
}
