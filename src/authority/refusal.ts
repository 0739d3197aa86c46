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
export type Step = (typeof steps)[number];

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
  | { readonly kind: 'no network' }
  | { readonly kind: 'level'; readonly grant: Grant; readonly subject: number; readonly object: number }
  | { readonly kind: 'no agent rule'; readonly grant: Grant; readonly subject: string; readonly file: string }
  | { readonly kind: 'no object policy'; readonly grant: Grant }
  | { readonly kind: 'no object rule'; readonly grant: Grant; readonly subject: string; readonly file: string }
  | { readonly kind: 'outside the view'; readonly path: string; readonly access: 'read' | 'write' }
  | { readonly kind: 'read-only'; readonly path: string; readonly entry: string };

const stepOfKind: Readonly<Record<Reason['kind'], Step>> = {
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
  level: 'label',
  'no agent rule': 'agent policy',
  'no object policy': 'object policy',
  'no object rule': 'object policy',
};

export function stepOf(reason: Reason): Step {
  return stepOfKind[reason.kind];
}

export interface Refusal {
  readonly allowed: false;
  readonly step: Step;
  readonly code: ErrnoCode;
  readonly reason: Reason;
}

export type Verdict = { readonly allowed: true } | Refusal;

export const allowed: Verdict = Object.freeze({ allowed: true });

/** Where an object's control files stand, below the root. */
export function controlDirectory(objectClass: ObjectClass, name: string): string {
  return `${objectClass}/${name}.d`;
}

export function coach(reason: Reason): string {
  switch (reason.kind) {
    case 'wrong credential':
      return `the caller's ${reason.field} is ${reason.got}, the agent's is ${reason.expected}`;
    case 'expired':
      return 'the authority has expired; an operator would issue a new one';
    case 'used up':
      return 'the authority has been used as often as it may; an operator would issue a new one';
    case 'mode unknown':
      return `${printGrant(reason.grant)}: the object's owner and mode are not known, so no mode bit allows it`;
    case 'mode bit':
      return `${printGrant(reason.grant)} needs ${reason.needed} by mode bits, which are ${reason.mode.toString(8).padStart(4, '0')}; an operator would chmod or chgrp the object`;
    case 'not visible':
      return `${reason.grant.class}:${reason.grant.name} is not in the agent's view; an operator would add its directory to the mount file or the tool path`;
    case 'missing':
      return `there is no ${reason.grant.class}:${reason.grant.name}`;
    case 'no network':
      return 'the authority grants no network; an operator would grant hosts, or any public host';
    case 'level':
      return `${reason.grant.class}:${reason.grant.name} is of level s${reason.object}, above the agent's s${reason.subject}`;
    case 'no agent rule':
      return `the agent's policy has no \`allow ${reason.subject} ${printGrant(reason.grant)}\`; an operator would add that line to ${visible(reason.file)}`;
    case 'no object policy': {
      const { grant } = reason;
      return `${grant.class}:${grant.name} has no policy of its own, so it allows nobody; an operator would write ${controlDirectory(grant.class, grant.name)}/policy`;
    }
    case 'no object rule':
      return `the policy of ${reason.grant.class}:${reason.grant.name} has no \`allow ${reason.subject} ${printGrant(reason.grant)}\`; an operator would add that line to ${visible(reason.file)}`;
    case 'outside the view':
      return `${visible(reason.path)} is outside the surface; an operator would add \`--${reason.access} ${visible(reason.path)}\` or a line to the mount file`;
    case 'read-only':
      return `${visible(reason.path)} is read-only, by ${visible(reason.entry)}; an operator would add \`--write ${visible(reason.path)}\``;
  }
}

export function tell(refusal: Refusal): string {
  if (refusal.code !== 'ENOENT') return coach(refusal.reason);
  return 'there is no such object or path in this view';
}
