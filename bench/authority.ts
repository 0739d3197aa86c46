/** What a decision costs with 10,000 rules (aim: under 200 ns), and parsing and attenuation. */
import { attenuate, type ChildRequest } from '../src/authority/attenuate.js';
import { authorityDigest, makeAuthority } from '../src/authority/authority.js';
import { decide } from '../src/authority/decide.js';
import { decidePath } from '../src/authority/decide-path.js';
import { parseLabel } from '../src/authority/label.js';
import { parseMounts } from '../src/authority/mount.js';
import { parsePolicy } from '../src/authority/policy.js';
import { makeSurface } from '../src/authority/surface.js';
import { measure, print } from './measure.js';

const ruleCount = 10_000;
const mountCount = 1_000;
const decisions = 1_000_000;

/** Strings as they come out of a request, not as this program pieced them together. */
function received(texts: readonly string[]): readonly string[] {
  return JSON.parse(JSON.stringify(texts)) as readonly string[];
}

// A third of the names are asked for and not granted, so that refusals are paid for as well.
const names = received(Array.from({ length: ruleCount }, (_, index) => `mcp.server${index % 97}.tool_${index}`));
const policyText = names.map((name) => `allow coder_t tool:${name} execute\n`).join('');
const ownText = names.map((name) => `allow coder_t tool:${name} execute\n`).join('');
const asked = received(names.map((name, index) => (index % 3 === 2 ? `${name}x` : name)));

// Nested by tens, so that most sources go through a deeper mount than their first.
const mountText = Array.from({ length: mountCount }, (_, index) => {
  const nested = index % 10 === 0 ? '' : `/inner${index % 10}`;
  return `/host/${index}\t/view/${Math.floor(index / 10)}${nested}\trw\trbind,nosuid,nodev\n`;
}).join('');

const label = parseLabel('user_u:agent_r:coder_t:s0');
const authority = makeAuthority({
  identity: { uid: 1000, gid: 1000, groups: [1000, 44], label },
  surface: makeSurface({ cwd: '/work', systemReads: ['/usr'], hidden: ['/host/store'] }),
  mounts: parseMounts(mountText, 'mount'),
  policy: parsePolicy(policyText, 'agent/coder.d/policy'),
});
const object = {
  exists: true,
  visible: true,
  file: { uid: 0, gid: 0, mode: 0o755 },
  policy: parsePolicy(ownText, 'tool.d/policy'),
};
const credential = { uid: 1000, gid: 1000 };
const ask = (name: string): number =>
  Number(
    decide({ authority, credential, class: 'tool', name, permission: 'execute', object, now: 0, used: 0 }).allowed,
  );
const paths = Array.from(
  { length: 1_000 },
  (_, index) => `/view/${index % 100}/inner${index % 9}/src/deep/file${index}.ts`,
);
const nameSet = new Map(names.map((name) => [name, 1]));

const child: ChildRequest = {
  identity: { label: parseLabel('user_u:agent_r:reviewer_t:s0') },
  surface: makeSurface({ cwd: '/work', systemReads: ['/usr'] }),
  mounts: parseMounts(mountText.replaceAll(/^\/host\/\d+\t(\S+)/gm, '$1\t$1'), 'request'),
  policy: parsePolicy('allow reviewer_t tool:mcp.server0.tool_0 execute\n', 'child'),
};
if (attenuate(authority, child, { now: 0 }).kind !== 'granted') throw new Error('the child must be granted');

/** Kept and printed nowhere: it keeps the work from being optimised away. */
let sink = 0;
function million<T>(items: readonly T[], ask: (item: T) => number): () => void {
  return () => {
    for (let done = 0; done < decisions; done += items.length) for (const item of items) sink += ask(item);
  };
}

const report = await measure({
  title: 'Authority: a decision with 10,000 rules, parsing, attenuation (for a million of anything, ms = ns each)',
  anchor: 'a million look-ups in a Map of 10,000',
  rounds: 15,
  warmUpRounds: 3,
  subjects: [
    { name: 'a million look-ups in a Map of 10,000', run: million(asked, (name) => nameSet.get(name) ?? 0) },
    { name: 'a million decisions, 100 tools in turn', run: million(names.slice(0, 100), ask) },
    { name: 'a million decisions, 10,000 tools in turn', run: million(names, ask) },
    { name: 'a million decisions, a third refused', run: million(asked, ask) },
    {
      name: 'a million paths through 1,000 mounts',
      run: million(paths, (path) => Number(decidePath({ authority, path, access: 'write', now: 0, used: 0 }).allowed)),
    },
    { name: 'parse 10,000 rules', run: () => parsePolicy(policyText, 'policy') },
    { name: 'parse 1,000 mounts', run: () => parseMounts(mountText, 'mount') },
    { name: 'attenuate 1,000 mounts', run: () => attenuate(authority, child, { now: 0 }) },
    { name: 'digest with 10,000 rules', run: () => authorityDigest(authority) },
  ],
  notes: [
    'Both policies of a decision have 10,000 rules; all six steps are taken. The aim is a median under 200 ns a decision.',
  ],
});
if (sink === 0) throw new Error('nothing was decided');
print(report);
