/** The report of a command as people read it. Pure. */
import { changesShownToPeople } from '../../base/limits/store.js';
import { visible } from '../../base/visible-text.js';
import { countChanges } from '../../sdk/changes.js';
import {
  type ConnectionEvent,
  type Envelope,
  type LimitEvent,
  type LiveEnvelope,
  type Refusal,
  toldRefusals,
} from '../../sdk/report.js';
import { changeLines, counted, sizeText } from './change-text.js';
import { limitText } from './limit-text.js';
import type { Paint } from './output.js';

type Common = Omit<
  Envelope,
  | 'keptJail'
  | 'checkpoint'
  | 'roots'
  | 'workspace'
  | 'changes'
  | 'beside'
  | 'besideCount'
  | 'pending'
  | 'entered'
  | 'clashes'
>;

function ending({ exitCode, signal, timedOut }: Common, paint: Paint): string {
  if (timedOut) return paint('red', 'timed out');
  if (signal !== null) return paint('red', `killed by ${signal}`);
  return exitCode === 0 ? paint('green', 'exit 0') : paint('red', `exit ${exitCode}`);
}

function durationText(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds / 1000)} s`;
}

/** Git writes its own index whenever somebody looks: that is not an edit. */
function enteredText(entered: readonly string[]): string[] {
  const edits = entered.filter((path) => path !== '.git/index');
  return edits.length === 0 ? [] : [`picked up ${counted(edits.length, 'edit')} you made since the last command`];
}

/** Whose a change is cannot be known then: all of them write the same layer. */
function besideText(count: number, changes: number): string {
  if (count === 0) return '';
  return ` while ${counted(count, 'other')} ran${changes === 0 ? '' : ': ctx rollback undoes what all of them did'}`;
}

function pendingText(pending: number): string[] {
  if (pending === 0) return [];
  return [`${counted(pending, 'change')} pending, your directory untouched: ctx diff, ctx apply, ctx drop`];
}

function connectionLine({ verdict, host, port, count, bytesIn, reason }: ConnectionEvent, paint: Paint): string {
  const where = `${visible(host)}:${port}${count === 1 ? '' : ` ${count} times`}`;
  if (verdict === 'allowed') return paint('dim', `  connected to ${where}, ${sizeText(bytesIn)} received`);
  const why = reason === null ? '' : `: ${visible(reason)}`;
  return paint('yellow', `  ${verdict === 'refused' ? 'refused to connect' : 'could not connect'} to ${where}${why}`);
}

/** Times are told from the command's start on: that is what a person watched. */
function refusalLine({ call, count, firstAt, lastAt, why }: Refusal, startedAt: string): string {
  const after = (at: string) => durationText(Math.max(0, Date.parse(at) - Date.parse(startedAt)));
  const [first, last] = [after(firstAt), after(lastAt)];
  const when = first === last ? `after ${first}` : `after ${first} to ${last}`;
  return `  refused ${call} ${count === 1 ? 'once' : `${count} times`} ${when} (${why})`;
}

/** A limit that was reached has a line of its own. */
function nearMisses(events: readonly LimitEvent[]): readonly LimitEvent[] {
  const reached = new Set(events.filter(({ percent }) => percent === 100).map(({ limit }) => limit));
  return events.filter(({ limit }) => !reached.has(limit));
}

function headline(envelope: Common, summary: string, paint: Paint): string {
  const { durationMilliseconds } = envelope;
  return `${paint('bold', 'ctx')}  ${ending(envelope, paint)}  ${durationText(durationMilliseconds)}  ${summary}`;
}

/** Worth a line where somebody has waited for it. */
const slowRename = { files: 1000, milliseconds: 250 } as const;

function renameLines({ resources }: Common, paint: Paint): readonly string[] {
  const { directories, files, bytes, milliseconds } = resources.copiedForRename;
  if (files < slowRename.files && milliseconds < slowRename.milliseconds) return [];
  const what = `${counted(directories, 'renamed directory', 'renamed directories')}`;
  const copied = `${counted(files, 'file')}, ${sizeText(bytes)}, ${durationText(milliseconds)}`;
  return [paint('dim', `  copied the files of ${what}: ${copied}`)];
}

function mountLines({ mounts = [] }: Common, paint: Paint): readonly string[] {
  return mounts.flatMap(({ specification, target, changes, more, undoable }) => {
    if (changes === null || changes.length === 0) return [];
    const undo = undoable ? '; ctx rollback takes them back' : '';
    const head = `  ${counted(changes.length + more, 'path')} changed in ${visible(target)} (${visible(specification)})${undo}`;
    const marks = { added: 'A', modified: 'M', deleted: 'D' } as const;
    const shown = changes.slice(0, changesShownToPeople).map(({ kind, path }) => `    ${marks[kind]} ${visible(path)}`);
    return [head, ...shown.map((line) => paint('dim', line))];
  });
}

function weakenedText(layer: string): string {
  return layer === 'nested-namespaces' ? 'it could make namespaces of its own' : `ran without ${layer}`;
}

/** What every command's report says of refusals, connections and limits. */
function refusalsAndLimits(envelope: Common, paint: Paint): readonly string[] {
  const { refusals, connections, limitEvents, limitsReached, weakened, startedAt } = envelope;
  return [
    ...toldRefusals(refusals).map((refusal) => paint('yellow', refusalLine(refusal, startedAt))),
    ...connections.map((event) => connectionLine(event, paint)),
    ...nearMisses(limitEvents).map((event) => paint('yellow', `  ${limitText(event)}`)),
    ...limitsReached.map((text) => paint('red', `  ${text}`)),
    ...weakened.map((layer) => paint('red', `  ${weakenedText(layer)}: you asked for it`)),
  ];
}

function warningLines(warnings: readonly string[], paint: Paint): readonly string[] {
  return warnings.slice(0, changesShownToPeople).map((warning) => paint('yellow', `  ${visible(warning)}`));
}

export function reportText(envelope: Envelope, paint: Paint): string {
  const { changes, entered, clashes, warnings } = envelope;
  const changed =
    changes.length === 0 ? 'no files changed' : `${counted(countChanges(changes), 'path')} changed in the fork`;
  const summary = `${changed}${besideText(envelope.besideCount, changes.length)}`;
  const lines = [
    headline(envelope, summary, paint),
    ...changeLines(changes, paint, changesShownToPeople),
    ...mountLines(envelope, paint),
    ...renameLines(envelope, paint),
    ...refusalsAndLimits(envelope, paint),
    ...enteredText(entered),
    ...clashes
      .slice(0, changesShownToPeople)
      .map((path) => paint('red', `  both you and the fork changed ${visible(path)}`)),
    ...warningLines(warnings, paint),
    ...pendingText(envelope.pending).map((line) => paint('dim', line)),
  ];
  return `${lines.join('\n')}\n`;
}

/** Of the warnings: what was granted, and is not there; what the person saved, and the command did not see. */
const untold = /^skipped |^\d+ of your own edits? /;

/** Of a command that failed: a directory of root's own, which its commands may not change. */
const untoldOfFailed = /^root's commands run as /;

/** A limit that nothing fails of. */
const slowed = /^processor limit reached: /;

/** What a command fails of without a network, or without that host: to the program it looks like a broken network. */
const noNetwork = /; no network is granted, /;
const connectionsNamed = 3;

function networkLines({ connections, warnings }: Pick<Common, 'connections' | 'warnings'>): readonly string[] {
  const refused = connections.filter(({ verdict }) => verdict === 'refused').slice(0, connectionsNamed);
  return [
    ...warnings.filter((warning) => noNetwork.test(warning)),
    ...refused.map((event) => connectionLine(event, (_colour, text) => text).trim()),
  ];
}

/**
 * Where there is no report: what no one would find out otherwise, a line each. Granted, and not there, looks like
 * refused.
 */
export function untoldText(
  end: Pick<Common, 'timedOut' | 'limitError' | 'limitsReached' | 'warnings' | 'connections' | 'exitCode'>,
): string {
  const { timedOut, limitError, limitsReached, warnings, exitCode } = end;
  // A program that fails of its limit, or is killed, says something else, or nothing.
  const limits = exitCode === 0 ? [] : limitsReached.filter((text) => !slowed.test(text));
  const lines = [
    ...(timedOut ? ['timed out'] : []),
    ...(limitError === undefined ? limits : [limitError.reason]),
    ...warnings.filter((warning) => untold.test(warning) || (exitCode !== 0 && untoldOfFailed.test(warning))),
    ...(exitCode === 0 ? [] : networkLines(end)),
  ];
  return lines.map((line) => `ctx: ${visible(line)}\n`).join('');
}

export function liveReportText(envelope: LiveEnvelope, paint: Paint): string {
  const where = visible(envelope.workspace.origin);
  const lines = [
    headline(envelope, `on ${where} itself: cannot be undone`, paint),
    ...refusalsAndLimits(envelope, paint),
    ...warningLines(envelope.warnings, paint),
  ];
  return `${lines.join('\n')}\n`;
}
