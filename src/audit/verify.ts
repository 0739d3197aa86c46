/**
 * The verifier: replays every chain, checks every seal, compares anchors and counters, and says what that proves and what it
 * does not. Reads only; never repairs. `scripts/verify-audit.py` does the same without a line of this code.
 */
import { type Anchor, type AnchorState, compareAnchor, holdsHead } from './anchor.js';
import { noDenials, parseDenials, type Totals, waiting } from './denials.js';
import { type Body, Hasher, types } from './format.js';
import { HostHistory, type KnownKey, type Seal } from './host-history.js';
import { hostChain, isTornName, segmentName } from './layout.js';
import type { RecordReader } from './reader.js';
import { layers, type RefusalLayer } from './record.js';
import { type RecordFault, type Replayed, replay, type Where } from './replay.js';
import { keyId } from './signature.js';

export type VerifyFault = RecordFault | 'seal' | 'key' | 'chain' | 'anchor' | 'counters';

export interface Finding {
  readonly fault: VerifyFault;
  readonly chain: string;
  readonly segment?: string;
  readonly line?: number;
  readonly seq?: number;
  readonly text: string;
}

export interface ChainVerdict {
  readonly chain: string;
  readonly records: number;
  readonly bytes: number;
  readonly head: string;
  /** Everything up to this record is signed. */
  readonly sealed: number;
  readonly denials: Totals;
}

export interface Verification {
  readonly version: 1;
  readonly ok: boolean;
  /** The first is the first bad record of the first bad chain. */
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly chains: readonly ChainVerdict[];
  readonly keys: readonly KnownKey[];
  readonly anchors: readonly string[];
  readonly proves: readonly string[];
  readonly cannot: readonly string[];
}

export interface VerifyRequest {
  readonly reader: RecordReader;
  readonly anchors: readonly Pick<Anchor, 'name' | 'read'>[];
  /**
   * Names of anchors that the operator no longer keeps. Where it is given, `anchors` are all there are, and any other
   * that a seal names is missing: anyone who rewrites the record would rather have it compared with none.
   */
  readonly retired?: readonly string[] | undefined;
  /** Public keys that the record may begin with; where none is given, any. */
  readonly trusted?: readonly string[];
}

interface Checked {
  readonly verdict: ChainVerdict;
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

function read(reader: RecordReader, chain: string, file: string): string | undefined {
  return reader.files(chain).includes(file) ? reader.read(chain, file).toString('utf8') : undefined;
}

/** Who removed a refusal could have left it so, too: it is a problem until then. */
const emptyCounts =
  'denials.json is empty, as a power cut may leave it: the next command that this chain records counts its refusals again; until then nothing shows whether one was removed';

/** What was counted where it happened, against what is recorded and what still waits to be. */
function counterFindings(reader: RecordReader, chain: string, recorded: Totals, seq: number): readonly Finding[] {
  const text = read(reader, chain, 'denials.json');
  if (text === '') return [{ fault: 'counters', chain, text: emptyCounts }];
  const state = text === undefined ? noDenials : parseDenials(text);
  if (state === undefined) return [{ fault: 'counters', chain, text: 'denials.json cannot be read' }];
  const pending = waiting(state, seq);
  return layers.flatMap((layer: RefusalLayer): Finding[] => {
    const counted = state.totals[layer] ?? 0;
    const found = (recorded[layer] ?? 0) + (pending[layer] ?? 0);
    if (counted === found) return [];
    return [{ fault: 'counters', chain, text: `${layer} counted ${counted} refusals, and ${found} are recorded` }];
  });
}

/** Files of torn ends that are not as a record tells of them, or of which none does. */
function tornFindings(reader: RecordReader, chain: string, told: ReadonlyMap<string, string>): readonly Finding[] {
  const hasher = new Hasher();
  const files = reader.files(chain);
  const missing = [...told.keys()].filter((file) => !files.includes(file));
  return [
    ...missing.map((file): Finding => ({ fault: 'torn', chain, text: `${file} was set aside and is missing` })),
    ...files.filter(isTornName).flatMap((file): Finding[] => {
      const digest = told.get(file);
      if (digest === undefined)
        return [{ fault: 'torn', chain, text: `${file} was set aside, and no record mentions it yet` }];
      return hasher.of(reader.read(chain, file)) === digest
        ? []
        : [{ fault: 'torn', chain, text: `${file} differs from what was set aside` }];
    }),
  ];
}

interface Expected {
  readonly seals: readonly Seal[];
  readonly genesis: string | undefined;
}

/** A chain is announced before its first record is written: a process that was killed in between leaves none. */
function unbegunFindings({ problem }: Replayed, { seals, genesis }: Expected): readonly Finding[] {
  const hasNoRecord = problem?.fault === 'missing' && problem.segment === segmentName(1);
  if (!hasNoRecord || genesis === undefined || seals.length > 0) return [];
  return [
    {
      ...problem,
      text: 'it was announced and has no record: a crash, or its records were removed, none of them sealed',
    },
  ];
}

function checkChain(
  reader: RecordReader,
  chain: string,
  expected: Expected,
  visit?: (body: Body, head: string, where: Where) => Finding | undefined,
): Checked {
  const problems: Finding[] = [];
  const wanted = new Map(expected.seals.map((seal) => [seal.seq, seal]));
  const recorded: Partial<Record<RefusalLayer, number>> = {};
  const torn = new Map<string, string>();
  let genesis: string | undefined;
  let sealed = 0;
  const look = (body: Body, head: string, where: Where): void => {
    genesis ??= head;
    if (body.status === 'denied' && body.layer !== undefined) {
      recorded[body.layer] = (recorded[body.layer] ?? 0) + (body.count ?? 1);
    }
    if (body.type === types.torn) torn.set(String(body.facts?.['file']), String(body.facts?.['digest']));
    const seal = wanted.get(body.seq);
    if (seal !== undefined && seal.head === head) sealed = body.seq;
    else if (seal !== undefined) {
      problems.push({
        ...where,
        fault: 'seal',
        text: `the seal in record ${seal.at} of the host chain does not match: this record, or one before it, was rewritten`,
      });
    }
    const lines = body.type === types.torn ? Number(body.facts?.['lines']) : 0;
    if (lines > 0) {
      const text = `before it were ${lines} whole lines that are not records, now in ${body.facts?.['file']}: a crash does not leave that`;
      problems.push({ ...where, fault: 'torn', text });
    }
    const found = visit?.(body, head, where);
    if (found !== undefined) problems.push(found);
  };
  // Of the host chain every record counts: its heads are what anchors have.
  const wants = visit === undefined ? (seq: number) => wanted.has(seq) : undefined;
  const replayed: Replayed = replay(reader, chain, new Hasher(), look, wants);
  const unbegun = unbegunFindings(replayed, expected);
  if (replayed.problem !== undefined && unbegun.length === 0) problems.unshift(replayed.problem);
  else {
    for (const seal of expected.seals.filter(({ seq }) => seq > replayed.seq)) {
      problems.push({
        fault: 'seal',
        chain,
        seq: replayed.seq + 1,
        text: `record ${seal.seq} was sealed and is not there: records from ${replayed.seq + 1} on were cut off`,
      });
      break;
    }
    problems.push(...counterFindings(reader, chain, recorded, replayed.seq));
  }
  if (genesis !== undefined && chain !== hostChain && expected.genesis !== genesis) {
    const text =
      expected.genesis === undefined
        ? 'the host chain does not mention this chain'
        : 'its first record is not the one that the host chain names: this is another chain';
    problems.push({ fault: 'chain', chain, seq: 1, text });
  }
  const verdict = {
    chain,
    records: replayed.records,
    bytes: replayed.bytes,
    head: replayed.head,
    sealed,
    denials: recorded,
  };
  return { verdict, problems, warnings: [...replayed.notes, ...unbegun, ...tornFindings(reader, chain, torn)] };
}

function anchorFindings(
  history: HostHistory,
  anchors: VerifyRequest['anchors'],
): { problems: Finding[]; warnings: Finding[]; holding: readonly string[] } {
  const problems: Finding[] = [];
  const warnings: Finding[] = [];
  const holding: string[] = [];
  for (const { name, read: readAnchor } of anchors) {
    let state: AnchorState;
    try {
      state = readAnchor();
    } catch (error) {
      warnings.push({
        fault: 'anchor',
        chain: hostChain,
        text: `anchor ${name} cannot be read: ${(error as Error).message}`,
      });
      continue;
    }
    if (holdsHead(state)) holding.push(name);
    const findings = compareAnchor(state, history.pointsOf(name), (seq) => history.headAt(seq), history.root);
    for (const { grave, seq, text } of findings) {
      (grave ? problems : warnings).push({
        fault: 'anchor',
        chain: hostChain,
        ...(seq === undefined ? {} : { seq }),
        text: `anchor ${name}: ${text}`,
      });
    }
  }
  return { problems, warnings, holding };
}

/** Anchors that seals tell of, with which nothing was compared. */
function uncomparedFindings(absent: readonly string[], retired: readonly string[] | undefined) {
  const problems: Finding[] = [];
  const warnings: Finding[] = [];
  for (const name of absent) {
    const found = (text: string): Finding => ({ fault: 'anchor', chain: hostChain, text: `anchor ${name}: ${text}` });
    if (retired === undefined)
      warnings.push(found('seals name this anchor, but it is not available here, so it was not compared'));
    else if (retired.includes(name)) warnings.push(found('it was retired, and is not compared any more'));
    else {
      const remedy = 'set it up again, or, if you took it out yourself, add its name to "retired"';
      problems.push(found(`seals name this anchor, but audit.json does not list it: ${remedy}`));
    }
  }
  return { problems, warnings };
}

function keyFindings(history: HostHistory, trusted: readonly string[]): { problems: Finding[]; warnings: Finding[] } {
  const { root } = history;
  const found = (text: string): Finding => ({ fault: 'key', chain: hostChain, text });
  if (root === undefined && trusted.length === 0) {
    return { problems: [], warnings: [found('nothing is sealed yet: ctx audit seal')] };
  }
  // Anyone can make a record that no key has signed.
  if (root === undefined)
    return { problems: [found('nothing in it is signed, by the trusted key or another')], warnings: [] };
  if (trusted.length === 0) {
    return {
      problems: [],
      warnings: [found(`no trusted key was given: compare ${root} with the one you exported`)],
    };
  }
  if (trusted.includes(root)) return { problems: [], warnings: [] };
  return {
    problems: [found(`the record begins with key ${keyId(root)}, which is not the trusted key`)],
    warnings: [],
  };
}

function statements(
  chains: readonly ChainVerdict[],
  history: HostHistory,
  anchors: { readonly read: readonly string[]; readonly unread: readonly string[] },
  trusted: boolean,
) {
  const sum = (of: (chain: ChainVerdict) => number) => chains.reduce((total, chain) => total + of(chain), 0);
  const unsealed = sum(({ records, sealed }) => records - sealed);
  const proves = [
    'within each chain no record was changed, dropped, added, moved or repeated since it was written',
    ...(history.root === undefined
      ? []
      : [
          `${sum(({ sealed }) => sealed)} records are as they were when they were signed${trusted ? ', by the trusted key' : ''}`,
        ]),
    ...(anchors.read.length === 0
      ? []
      : [
          `no sealed record was rewritten since it was anchored, unless by someone who could also rewrite the anchor (${anchors.read.join(', ')})`,
        ]),
    'every refusal that was counted is recorded, or waits to be',
  ];
  const cannot = [
    ...(unsealed === 0
      ? []
      : [
          `${unsealed} records since the last seals are chained but not signed: anyone who can write the store could have replaced or removed them`,
        ]),
    ...(trusted
      ? []
      : ['whose key it is: anyone who can write the store could have made a complete record of their own']),
    ...(anchors.unread.length === 0
      ? []
      : [
          `that the record is the one that was anchored: nothing was compared with what is empty or could not be read (${anchors.unread.join(', ')})`,
        ]),
    'that a record was true when it was written: any process that runs as you can write records',
    'what happened and was never recorded: paths that do not exist in a jail leave no trace',
  ];
  return { proves, cannot };
}

export function verify({ reader, anchors, retired, trusted = [] }: VerifyRequest): Verification {
  const history = new HostHistory();
  const present = reader.chains();
  const host = checkChain(reader, hostChain, { seals: [], genesis: undefined }, (body, head, where) => {
    const fault = history.add(body, head);
    if (fault === undefined) return undefined;
    return {
      ...where,
      fault: body.type === types.key ? 'key' : body.type === types.chain ? 'chain' : 'seal',
      text: fault,
    };
  });
  const hostSealed = history.sealsOf(hostChain).at(-1)?.at ?? 0;
  const others = [...new Set([...present, ...history.chains])].filter((chain) => chain !== hostChain);
  const checked: Checked[] = [
    { ...host, verdict: { ...host.verdict, sealed: hostSealed } },
    ...others.map((chain) =>
      checkChain(reader, chain, { seals: history.sealsOf(chain), genesis: history.genesisOf(chain) }),
    ),
  ];
  // Where the host chain breaks off, what it would say of the others is not known.
  const hostIsBroken = host.problems.length > 0;
  const own = checked.flatMap(({ problems }) => problems);
  const problems = hostIsBroken ? own.filter(({ fault, chain }) => chain === hostChain || fault !== 'chain') : own;
  const anchored = anchorFindings(history, anchors);
  const absent = history.anchors.filter((named) => !anchors.some(({ name }) => name === named));
  const uncompared = uncomparedFindings(absent, retired);
  const keys =
    hostIsBroken && history.root === undefined ? { problems: [], warnings: [] } : keyFindings(history, trusted);
  const all = [...problems, ...(hostIsBroken ? [] : [...anchored.problems, ...uncompared.problems]), ...keys.problems];
  const chains = checked.map(({ verdict }) => verdict);
  const given = anchors.map(({ name }) => name).filter((name) => history.pointsOf(name).length > 0);
  const read = given.filter((name) => anchored.holding.includes(name));
  const unread = given.filter((name) => !read.includes(name));
  return {
    version: 1,
    ok: all.length === 0,
    problems: all,
    warnings: [
      ...checked.flatMap(({ warnings }) => warnings),
      ...anchored.warnings,
      ...uncompared.warnings,
      ...keys.warnings,
    ],
    chains,
    keys: history.keys,
    anchors: read,
    ...(all.length === 0
      ? statements(chains, history, { read, unread }, trusted.length > 0)
      : {
          proves: ['that something is wrong: see the first problem'],
          cannot: ['who did it, and what was there before'],
        }),
  };
}
