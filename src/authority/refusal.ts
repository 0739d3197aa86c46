/**
 * Why something was refused, as values, and the texts that coach: which rule was missing and what an operator would
 * add. `coach` is for the operator and the record. `tell` is for the subject: of an object that it does not see it says
 * no more than the errno does.
 */
import type { ErrnoCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { type Grant, type ObjectClass, printGrant } from './permission.js';

/** In the order they are taken; the first refusal refuses. */
export const steps = Object.freeze([
  'credential',
  'mode bit',
  'visibility',
  'label',
  'agent policy',
  'object policy',
] as const);
export type DecisionStep = (typeof steps)[number];

export type Reason =
  | {
      readonly kind: 'wrong credential';
      readonly field: 'uid' | 'gid';
      readonly got: number;
      readonly expected: number;
    }
  | { readonly kind: 'expired' }
  | { readonly kind: 'used up' }
  | { readonly kind: 'mode unknown'; readonly grant: Grant }
  | { readonly kind: 'mode bit'; readonly grant: Grant; readonly needed: string; readonly mode: number }
  | { readonly kind: 'not visible'; readonly grant: Grant }
  | { readonly kind: 'missing'; readonly grant: Grant }
  | { readonly kind: 'no network'; readonly hostPort?: string }
  | { readonly kind: 'level'; readonly grant: Grant; readonly subject: number; readonly object: number }
  | { readonly kind: 'no agent rule'; readonly grant: Grant; readonly subject: string; readonly file: string }
  | { readonly kind: 'no object rule'; readonly grant: Grant; readonly subject: string; readonly file: string }
  | { readonly kind: 'outside the view'; readonly path: string; readonly access: 'read' | 'write' }
  | { readonly kind: 'read-only'; readonly path: string; readonly entry: string }
  | { readonly kind: 'run read-only'; readonly path: string }
  /** Of the objects at /ctx. */
  | { readonly kind: 'view read-only'; readonly path: string }
  /** What an agent's home or a shared space has that only its owner writes. */
  | { readonly kind: 'kept read-only'; readonly path: string }
  | { readonly kind: 'no such path'; readonly path: string }
  | { readonly kind: 'path mode'; readonly path: string; readonly needed: string; readonly mode: number }
  | { readonly kind: 'no program'; readonly path: string; readonly is: string }
  | { readonly kind: 'no execution'; readonly path: string; readonly entry: string }
  | { readonly kind: 'host not granted'; readonly hostPort: string }
  | { readonly kind: 'host not public'; readonly hostPort: string }
  /** By what its name resolves to. */
  | { readonly kind: 'address refused'; readonly text: string }
  /** By the rules about commands. */
  | { readonly kind: 'command refused'; readonly text: string };

const stepOfKind: Readonly<Record<Reason['kind'], DecisionStep>> = {
  'wrong credential': 'credential',
  expired: 'credential',
  'used up': 'credential',
  'mode unknown': 'mode bit',
  'mode bit': 'mode bit',
  'not visible': 'visibility',
  missing: 'visibility',
  'no network': 'visibility',
  'outside the view': 'visibility',
  'read-only': 'visibility',
  'run read-only': 'visibility',
  'view read-only': 'visibility',
  'kept read-only': 'visibility',
  'no such path': 'visibility',
  'path mode': 'mode bit',
  'no program': 'mode bit',
  'no execution': 'visibility',
  'host not granted': 'visibility',
  'host not public': 'visibility',
  'address refused': 'visibility',
  'command refused': 'agent policy',
  level: 'label',
  'no agent rule': 'agent policy',
  'no object rule': 'object policy',
};

export function stepOf(reason: Reason): DecisionStep {
  return stepOfKind[reason.kind];
}

export interface AuthorityRefusal {
  readonly allowed: false;
  readonly step: DecisionStep;
  readonly code: ErrnoCode;
  readonly reason: Reason;
}

/** With the step that such a reason belongs to. */
export function refusedFor(code: ErrnoCode, reason: Reason): AuthorityRefusal {
  return Object.freeze({ allowed: false, step: stepOf(reason), code, reason });
}

export type Verdict = { readonly allowed: true } | AuthorityRefusal;

export const allowed: Verdict = Object.freeze({ allowed: true });

/** Where an object's control files are, below the root. */
export function controlDirectory(objectClass: ObjectClass, name: string): string {
  return `${objectClass}/${name}.d`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/** The line that is missing, as it would be in the file. */
function added(subject: string, grant: Grant): string {
  return `an operator would add: allow ${subject} ${printGrant(grant)}`;
}

/** Without an agent there is no file. */
const inFile = (file: string) => (file === '' ? '' : ` (${visible(file)})`);

/** What would show an object of that class. */
const shownBy: Readonly<Record<ObjectClass, string>> = {
  tool: 'an operator can add its directory to the mount file or the tool path',
  model: "an operator can add its name to the agent's model file, and to those of its parents",
  mount: "an operator can add a line with that target to the agent's mount file",
  session: 'there are no sessions yet',
  shared: 'an operator can make the shared space',
  agent: 'an operator can make the agent',
  network: 'an operator can grant hosts, or any public host',
};

export function coach(reason: Reason): string {
  switch (reason.kind) {
    case 'wrong credential':
      return `the caller's ${reason.field} is ${reason.got}, the agent's is ${reason.expected}`;
    case 'expired':
      return 'the authority has expired; an operator can issue a new one';
    case 'used up':
      return 'the authority has been used as often as it may; an operator can issue a new one';
    case 'mode unknown':
      return `${printGrant(reason.grant)}: the object's owner and mode are not known, so no mode bit allows it`;
    case 'mode bit':
      return `${printGrant(reason.grant)} needs ${reason.needed} by mode bits, which are ${octal(reason.mode)}; an operator can chmod or chgrp the object`;
    case 'not visible':
      return `${reason.grant.class}:${reason.grant.name} is not in the agent's view; ${shownBy[reason.grant.class]}`;
    case 'missing':
      return `there is no ${reason.grant.class}:${reason.grant.name}`;
    case 'no network':
      return `no network is granted; an operator can grant ${reason.hostPort ?? 'hosts'}, or any public host`;
    case 'level':
      return `${reason.grant.class}:${reason.grant.name} is of level s${reason.object}, above the agent's s${reason.subject}`;
    case 'no agent rule':
      return `the agent's policy${inFile(reason.file)} does not allow it; ${added(reason.subject, reason.grant)}`;
    case 'no object rule':
      return `the policy of ${reason.grant.class}:${reason.grant.name} itself (${visible(reason.file)}) does not allow it; ${added(reason.subject, reason.grant)}`;
    case 'outside the view':
      return `${visible(reason.path)} is outside the surface; an operator can add \`--${reason.access} ${visible(reason.path)}\` or a line to the mount file`;
    case 'read-only':
      return `${visible(reason.path)} is read-only, by ${visible(reason.entry)}; an operator can add \`--write ${visible(reason.path)}\``;
    case 'run read-only':
      return `${visible(reason.path)} is part of the fork, which --readonly shows read-only`;
    case 'view read-only':
      return `${visible(reason.path)} is made by the agent's view: objects are changed by ctx agent set and ctx tool set`;
    case 'kept read-only':
      return `${visible(reason.path)} is shown read-only in every jail: what is there carries authority, or is kept of runs`;
    case 'no such path':
      return `there is no ${visible(reason.path)} for a command to find`;
    case 'path mode':
      return `${visible(reason.path)} needs ${reason.needed} by mode bits, which are ${octal(reason.mode)}; chmod would change that`;
    case 'no program':
      return `${visible(reason.path)} is ${reason.is}, and cannot be executed`;
    case 'no execution':
      return `${visible(reason.path)} cannot be executed, by ${visible(reason.entry)}, which is mounted noexec`;
    case 'host not granted':
      return `${reason.hostPort} is not among the granted hosts; an operator can add ${reason.hostPort}`;
    case 'host not public':
      return `${reason.hostPort} is not a public host; an operator can grant it by name and list it as a private host`;
    case 'address refused':
    case 'command refused':
      return reason.text;
  }
}

export function tell(refusal: AuthorityRefusal): string {
  if (refusal.code !== 'ENOENT') return coach(refusal.reason);
  return 'there is no such object or path in this view';
}
