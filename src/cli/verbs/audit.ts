/** `ctx audit tail`, `query` and `show`: reading the record. */
import { ExitCode } from '../../base/errno.js';
import type { Host } from '../../sdk/host.js';
import { AuditRecord, type FoundRecord } from '../../sdk/operator/record.js';
import { parseCount } from '../input/parse-arguments.js';
import { parseWhen } from '../input/parse-when.js';
import { coconutEvent, coconutLine } from '../text/coconut-event.js';
import { painter, print, printJson } from '../text/output.js';
import { recordDetails, recordLine } from '../text/record-text.js';
import type { Arguments, Run } from '../verb.js';

const tailCount = 20;

async function recordOf(call: Arguments, host: () => Promise<Host>): Promise<AuditRecord> {
  return new AuditRecord(await host(), { directory: call.value('record'), as: call.value('as') });
}

function jsonOf({ chain, head, body }: FoundRecord) {
  return { chain, head, ...body };
}

function printRecords(call: Arguments, records: readonly FoundRecord[]): void {
  const paint = painter(process.stdout);
  for (const record of records) {
    if (call.flag('json')) printJson({ version: 1, ...jsonOf(record) });
    else print(`${recordLine(record, paint)}\n`);
  }
}

function printEvents(call: Arguments, records: readonly FoundRecord[]): void {
  for (const record of records) {
    const event = coconutEvent(record);
    if (event === undefined) continue;
    if (call.flag('json')) printJson({ version: 1, event, ...jsonOf(record) });
    else print(`${coconutLine(event, record)}\n`);
  }
}

export const tail: Run = async (call, host) => {
  const record = await recordOf(call, host);
  const given = call.value('count');
  const count = given === undefined ? tailCount : parseCount(given, '--count', true);
  const all = call.flag('all');
  const seen = await record.find({ all });
  printRecords(call, seen.slice(-count));
  if (call.flag('follow')) for await (const each of record.follow(seen, { all })) printRecords(call, [each]);
  return ExitCode.ok;
};

export const query: Run = async (call, host) => {
  const record = await recordOf(call, host);
  const now = new Date();
  const when = (name: string) => {
    const text = call.value(name);
    return text === undefined ? undefined : parseWhen(text, now);
  };
  const found = await record.find({
    agent: call.value('agent'),
    session: call.value('session'),
    type: call.value('type'),
    status: call.value('status'),
    path: call.value('path'),
    since: when('since'),
    until: when('until'),
    all: call.flag('all'),
  });
  if (call.flag('coconut')) printEvents(call, found);
  else printRecords(call, found);
  return ExitCode.ok;
};

export const show: Run = async (call, host) => {
  const { previous, ...record } = await (await recordOf(call, host)).at(call.words[0] ?? '');
  if (call.flag('json')) printJson({ version: 1, ...jsonOf(record), prev: previous });
  else print(recordDetails(record, previous, painter(process.stdout)));
  return ExitCode.ok;
};
