/** `ctx audit tail`, `query` and `show`: reading the record. */
import { setTimeout as sleep } from 'node:timers/promises';
import { genesisHead } from '../audit/format.js';
import { agentChain, isChainName, personChain } from '../audit/layout.js';
import { type FoundRecord, find, isBookkeeping, type Query, recordsIn } from '../audit/query.js';
import { directoryReader, type RecordReader } from '../audit/reader.js';
import { allows } from '../authority/policy.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import type { Host } from '../proxy/host.js';
import { painter, printJson } from './output.js';
import { parseCount } from './parse-arguments.js';
import { parseWhen } from './parse-when.js';
import { recordDetails, recordLine } from './record-text.js';
import type { Arguments, Run } from './verb.js';

const followMilliseconds = 300;
const tailCount = 20;

export function readerOf(call: Arguments, host: Host): RecordReader {
  return directoryReader(call.value('record') ?? host.audit.record);
}

/**
 * The operator reads everything. An agent reads its own chain, and another agent's where its policy has `agent:NAME read`; never
 * the person's and never the host's.
 */
async function rightsOf(call: Arguments, host: Host): Promise<(chain: string) => boolean> {
  const name = call.value('as');
  if (name === undefined) return () => true;
  const { policy, identity } = await host.agents(name);
  const grants = (other: string) => allows(policy, identity.label.type, 'agent', other, 'read');
  return (chain) => chain === agentChain(name) || (chain.startsWith('agent/') && grants(chain.slice('agent/'.length)));
}

function refuseReading(call: Arguments, chain: string): never {
  throw new ErrnoError('EACCES', {
    operation: 'ctx audit',
    path: chain,
    reason: `agent ${call.value('as')} may not read the records of ${chain}`,
    remedy: `an operator would add to its policy: allow TYPE ${chain.replace('/', ':')} read`,
  });
}

function jsonOf({ chain, head, body }: FoundRecord) {
  return { chain, head, ...body };
}

function print(call: Arguments, records: readonly FoundRecord[]): void {
  const paint = painter(process.stdout);
  for (const record of records) {
    if (call.flag('json')) printJson(jsonOf(record));
    else process.stdout.write(`${recordLine(record, paint)}\n`);
  }
}

export const tail: Run = async (call, hostOf) => {
  const host = await hostOf();
  const reader = readerOf(call, host);
  const mayRead = await rightsOf(call, host);
  const given = call.value('count');
  const count = given === undefined ? tailCount : parseCount(given, '--count', true);
  const newest = () => find(reader, {}, mayRead).filter((record) => call.flag('all') || !isBookkeeping(record));
  let seen = newest();
  print(call, seen.slice(-count));
  while (call.flag('follow')) {
    await sleep(followMilliseconds);
    const known = new Set(seen.map(({ chain, body }) => `${chain}:${body.seq}`));
    seen = newest();
    print(
      call,
      seen.filter(({ chain, body }) => !known.has(`${chain}:${body.seq}`)),
    );
  }
  return ExitCode.ok;
};

export const query: Run = async (call, hostOf) => {
  const host = await hostOf();
  const mayRead = await rightsOf(call, host);
  const when = (name: string) => {
    const text = call.value(name);
    return text === undefined ? undefined : parseWhen(text, host.now());
  };
  const asked: Query = {
    agent: call.value('agent'),
    session: call.value('session'),
    type: call.value('type'),
    status: call.value('status'),
    path: call.value('path'),
    since: when('since'),
    until: when('until'),
  };
  if (asked.agent !== undefined && !mayRead(agentChain(asked.agent))) refuseReading(call, agentChain(asked.agent));
  const wantsAll = call.flag('all') || asked.type?.startsWith('audit') === true;
  const found = find(readerOf(call, host), asked, mayRead);
  print(
    call,
    found.filter((record) => wantsAll || !isBookkeeping(record)),
  );
  return ExitCode.ok;
};

export const show: Run = async (call, hostOf) => {
  const host = await hostOf();
  const [place = ''] = call.words;
  const colon = place.lastIndexOf(':');
  const chain = colon < 0 ? personChain : place.slice(0, colon);
  const seq = Number(place.slice(colon + 1));
  if (!isChainName(chain) || !Number.isSafeInteger(seq) || seq < 1) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx audit show',
      reason: `expected CHAIN:NUMBER, for example agent/coder:3, got '${place}'`,
    });
  }
  if (!(await rightsOf(call, host))(chain)) refuseReading(call, chain);
  let previous = genesisHead;
  for (const record of recordsIn(readerOf(call, host), chain)) {
    if (record.body.seq === seq) {
      if (call.flag('json')) printJson({ version: 1, ...jsonOf(record), prev: previous });
      else process.stdout.write(recordDetails(record, previous, painter(process.stdout)));
      return ExitCode.ok;
    }
    previous = record.head;
  }
  throw new ErrnoError('ENOENT', {
    operation: 'ctx audit show',
    path: place,
    reason: 'there is no such record',
    remedy: 'ctx audit query lists them',
  });
};
