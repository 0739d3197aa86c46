/**
 * What a child asked for beyond its parent, as values: each is one thing a supervisor could grant, and a grant must
 * name exactly it. The texts coach: what the parent holds, and what to ask for instead.
 */
import { canonicalJson } from '../base/canonical-json.js';
import { visible } from '../base/visible-text.js';
import type { Isolation } from './lineage.js';
import type { MountMode } from './mount.js';
import type { LifetimeField, QuotaField } from './quota.js';

export type Excess =
  /** `policy` text of the rule, e.g. `tool:fs.write execute`. */
  | { readonly kind: 'permission'; readonly rule: string }
  | { readonly kind: 'foreign subject'; readonly rule: string }
  | { readonly kind: 'group'; readonly gid: number }
  /** A path that the parent does not see; `host` is what a grant would mount. */
  | {
      readonly kind: 'hidden path';
      readonly source: string;
      readonly target: string;
      readonly mode: MountMode;
      readonly host: string;
    }
  /** A path that the parent only reads. */
  | { readonly kind: 'read-only path'; readonly source: string; readonly target: string; readonly host: string }
  /** Of a tree that the parent has at another path, which no child gets alone. */
  | { readonly kind: 'part of a tree'; readonly source: string; readonly tree: string }
  | { readonly kind: 'tool path'; readonly path: string }
  | { readonly kind: 'network'; readonly host: string }
  | { readonly kind: 'network without permission' }
  | { readonly kind: 'quota'; readonly field: QuotaField; readonly asked: number; readonly held: number }
  | { readonly kind: 'lifetime'; readonly field: LifetimeField; readonly asked: number; readonly held: number }
  | { readonly kind: 'isolation'; readonly asked: Isolation; readonly held: Isolation }
  | { readonly kind: 'detached life' }
  | {
      readonly kind: 'identity';
      readonly field: 'owner' | 'uid' | 'gid';
      readonly asked: number;
      readonly held: number;
    }
  | { readonly kind: 'label'; readonly field: 'user' | 'role' | 'level'; readonly asked: string; readonly held: string }
  | { readonly kind: 'parent is over'; readonly fault: 'expired' | 'used up' }
  | { readonly kind: 'too many mounts'; readonly asked: number; readonly held: number };

/** Who a child is, and that its parent is still good, is not for a supervisor to change. */
export function isGrantable(excess: Excess): boolean {
  switch (excess.kind) {
    case 'foreign subject':
    case 'network without permission':
    case 'identity':
    case 'label':
    case 'parent is over':
    case 'too many mounts':
    case 'part of a tree':
      return false;
    default:
      return true;
  }
}

export function sameExcess(a: Excess, b: Excess): boolean {
  return canonicalJson({ ...a }) === canonicalJson({ ...b });
}

/** What is beyond the parent, and what to ask for instead. */
function factAndAdvice(excess: Excess): readonly [fact: string, advice: string] {
  switch (excess.kind) {
    case 'permission':
      return [
        `the parent may not \`${excess.rule}\``,
        'leave the rule out, or have an operator allow it for the parent',
      ];
    case 'foreign subject':
      return [`\`${excess.rule}\` is for another subject than the child`, "write it with the child's own type"];
    case 'group':
      return [`the parent is not in group ${excess.gid}`, 'leave the group out'];
    case 'hidden path':
      return [`the parent does not see ${visible(excess.source)}`, 'mount a path that it sees'];
    case 'read-only path':
      return [`the parent only reads ${visible(excess.source)}`, 'ask for it as ro'];
    case 'part of a tree':
      return [`${visible(excess.source)} is a part of the tree at ${visible(excess.tree)}`, 'mount the whole tree'];
    case 'tool path':
      return [`${visible(excess.path)} is not on the parent's tool path`, 'leave it out'];
    case 'network':
      return [
        `the parent may not connect to ${excess.host}`,
        'leave it out, or have an operator grant it to the parent',
      ];
    case 'network without permission':
      return ['the child asks for a network but its policy has no `network:default connect`', 'add that rule'];
    case 'quota':
      return [`the parent's ${excess.field} is ${excess.held}, less than ${excess.asked}`, 'ask for at most that'];
    case 'lifetime':
      return [`the parent's ${excess.field} is ${excess.held}, before ${excess.asked}`, 'ask for at most that'];
    case 'isolation':
      return [`the parent runs with iso ${excess.held}, not ${excess.asked}`, `ask for ${excess.held}`];
    case 'detached life':
      return ['a child ends with its parent', 'ask for life owned'];
    case 'identity':
      return [`a child has its parent's ${excess.field}, ${excess.held}, not ${excess.asked}`, 'leave it out'];
    case 'label':
      return [
        `a child keeps its parent's ${excess.field}, ${excess.held}, not ${excess.asked}`,
        'choose another type only',
      ];
    case 'parent is over':
      return [`the parent's authority is ${excess.fault}`, 'it has nothing left to give'];
    case 'too many mounts':
      return [`the child's view would need ${excess.asked} mounts, more than ${excess.held}`, 'ask for fewer paths'];
  }
}

/** What is beyond the parent, alone. */
export function excessFact(excess: Excess): string {
  return factAndAdvice(excess)[0];
}

export function coachExcess(excess: Excess): string {
  return factAndAdvice(excess).join('; ');
}
