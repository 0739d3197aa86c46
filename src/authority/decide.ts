/**
 * Decide: may this subject do this to that object? Six steps in a fixed order, and any refusal refuses:
 *
 *     1 credential     the caller is the subject, and its Authority is still good
 *     2 mode bit       owner, group or other bits; no exception for uid 0, which holds no capability here
 *     3 visibility     the object is in the subject's view, and exists
 *     4 label          its level is not above the subject's
 *     5 agent policy   the subject's policy allows it
 *     6 object policy  the tool's or model's own policy, where it has one, allows the subject and each of its ancestors
 *
 * The errno tells a subject nothing about what it does not see: a wrong credential is always EACCES, an object that is
 * missing or not visible is ENOENT whichever step refused, a visible one is EACCES. Facts about the object come in;
 * nothing here looks them up, and `meta.json` is not among them.
 */

import type { Authority } from './authority.js';
import type { Label } from './label.js';
import { namesMounts } from './mount-permission.js';
import {
  type Grant,
  objectClasses,
  type Permission,
  permissionBit,
  permissionTable,
  printGrant,
} from './permission.js';
import type { Policy } from './policy.js';
import { lifetimeFault } from './quota.js';
import {
  type AuthorityRefusal,
  allowed,
  controlDirectory,
  type DecisionStep,
  type Reason,
  stepOf,
  type Verdict,
} from './refusal.js';
import { refuse } from './syntax.js';

export interface ObjectFacts {
  readonly exists: boolean;
  /** Whether its place (for `create`: the directory it would be in) is in the subject's view. */
  readonly visible: boolean;
  /** Owner and mode of its executable entry or directory. */
  readonly file?: { readonly uid: number; readonly gid: number; readonly mode: number };
  readonly label?: Label;
  /** Its own policy, where it has one; without one the agents' policies alone decide. An empty one allows no one. */
  readonly policy?: Policy;
}

export interface DecisionRequest extends Grant {
  readonly authority: Authority;
  /** Of the peer or of the process that executes. */
  readonly credential: { readonly uid: number; readonly gid: number };
  readonly object: ObjectFacts;
  readonly now: number;
  /** How often the Authority has been used. */
  readonly used: number;
}

const read = 4;
const write = 2;
const execute = 1;
const nothing = 0;

/** The same in every class that has the permission. */
const modeBits: ReadonlyMap<Permission, number> = new Map([
  ['read', read],
  ['write', write],
  ['resume', read | write],
  ['execute', execute],
  ['use', execute],
  ['start', execute],
  ['stop', execute],
  ['create', nothing],
  ['connect', nothing],
]);
/** By the place of the permission's bit; what is not listed needs everything. */
const neededBits: readonly number[] = Array.from({ length: 32 }, (_, place) => {
  const permissions = objectClasses.flatMap((each) =>
    permissionTable[each].filter((permission) => Math.clz32(permissionBit(each, permission)) === place),
  );
  return permissions[0] === undefined
    ? read | write | execute
    : (modeBits.get(permissions[0]) ?? read | write | execute);
});
const bitNames = ['', 'execute', 'write', 'write and execute', 'read', 'read and execute', 'read and write'];

function grantOf({ class: objectClass, name, permission }: DecisionRequest): Grant {
  return { class: objectClass, name, permission };
}

function checkCredential({ authority, credential, now, used }: DecisionRequest): Reason | undefined {
  const { identity } = authority;
  if (credential.uid !== identity.uid) {
    return { kind: 'wrong credential', field: 'uid', got: credential.uid, expected: identity.uid };
  }
  if (credential.gid !== identity.gid) {
    return { kind: 'wrong credential', field: 'gid', got: credential.gid, expected: identity.gid };
  }
  const fault = lifetimeFault(authority.lifetime, now, used);
  return fault === undefined ? undefined : { kind: fault };
}

function checkMode(request: DecisionRequest, bit: number): Reason | undefined {
  const needed = neededBits[Math.clz32(bit)] ?? read | write | execute;
  // What is not there has no mode; the next step says so.
  if (needed === nothing || !request.object.exists) return undefined;
  const { file } = request.object;
  if (file === undefined) return { kind: 'mode unknown', grant: grantOf(request) };
  const { uid, gid, groups } = request.authority.identity;
  const shift = file.uid === uid ? 6 : file.gid === gid || groups.includes(file.gid) ? 3 : 0;
  if (((file.mode >> shift) & needed) === needed) return undefined;
  return { kind: 'mode bit', grant: grantOf(request), needed: bitNames[needed] ?? 'all', mode: file.mode & 0o7777 };
}

function checkVisibility(request: DecisionRequest): Reason | undefined {
  if (request.class === 'network')
    return request.authority.network.kind === 'none' ? { kind: 'no network' } : undefined;
  if (!request.object.visible) return { kind: 'not visible', grant: grantOf(request) };
  if (request.object.exists || request.permission === 'create') return undefined;
  return { kind: 'missing', grant: grantOf(request) };
}

function checkLabel(request: DecisionRequest): Reason | undefined {
  const subject = request.authority.identity.label.level;
  const object = request.object.label?.level ?? 0;
  return object <= subject ? undefined : { kind: 'level', grant: grantOf(request), subject, object };
}

function checkAgentPolicy(request: DecisionRequest, bit: number): Reason | undefined {
  const { permissions, policy, identity } = request.authority;
  if (permissions.hold(request.name, bit)) return undefined;
  // A policy that names no mount leaves them to the mount file.
  if (request.class === 'mount' && !namesMounts(policy, identity.label.type)) return undefined;
  return { kind: 'no agent rule', grant: grantOf(request), subject: identity.label.type, file: policy.file };
}

function checkObjectPolicy(request: DecisionRequest, bit: number): Reason | undefined {
  if (request.class !== 'tool' && request.class !== 'model') return undefined;
  const { policy } = request.object;
  if (policy === undefined) return undefined;
  const { authority, name } = request;
  let subject: string | undefined = authority.identity.label.type;
  if (policy.of(subject).hold(name, bit)) {
    if (authority.ancestors.length === 0) return undefined;
    subject = authority.ancestors.find((ancestor) => !policy.of(ancestor).hold(name, bit));
    // What a supervisor granted this child does not depend on what its ancestors may do.
    if (subject === undefined || isSupervised(authority, request)) return undefined;
  }
  const file = policy.file === '' ? `${controlDirectory(request.class, name)}/policy` : policy.file;
  return { kind: 'no object rule', grant: grantOf(request), subject, file };
}

function isSupervised(authority: Authority, grant: Grant): boolean {
  const rule = printGrant(grant);
  return authority.supervised.some(({ excess }) => excess.kind === 'permission' && excess.rule === rule);
}

interface Check {
  readonly step: DecisionStep;
  /** `bit` is the one of the class and permission that are asked for. */
  readonly refuses: (request: DecisionRequest, bit: number) => Reason | undefined;
}

/** In the order of `steps`, for `explain`, which takes all of them. */
export const checks: readonly Check[] = Object.freeze([
  { step: 'credential', refuses: checkCredential },
  { step: 'mode bit', refuses: checkMode },
  { step: 'visibility', refuses: checkVisibility },
  { step: 'label', refuses: checkLabel },
  { step: 'agent policy', refuses: checkAgentPolicy },
  { step: 'object policy', refuses: checkObjectPolicy },
]);

function refusalOf(request: DecisionRequest, step: DecisionStep, reason: Reason): AuthorityRefusal {
  const { exists, visible } = request.object;
  const seen = request.class === 'network' || (visible && (exists || request.permission === 'create'));
  return Object.freeze({ allowed: false, step, code: step === 'credential' || seen ? 'EACCES' : 'ENOENT', reason });
}

/** EINVAL for a class or permission that Policy v0 does not have; every other answer is a verdict. */
export function decide(request: DecisionRequest): Verdict {
  const bit = permissionBit(request.class, request.permission);
  if (bit === 0) {
    refuse('decide', `expected a class and permission of Policy v0, got ${request.class} ${request.permission}`);
  }
  const reason =
    checkCredential(request) ??
    checkMode(request, bit) ??
    checkVisibility(request) ??
    checkLabel(request) ??
    checkAgentPolicy(request, bit) ??
    checkObjectPolicy(request, bit);
  return reason === undefined ? allowed : refusalOf(request, stepOf(reason), reason);
}
