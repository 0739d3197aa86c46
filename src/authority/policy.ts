/**
 * Policy v0: `allow <subject_type> <class>:<name> <permission>`, one rule a line, and everything not allowed is denied.
 * There is no deny, glob, variable, path or inheritance to reason about: a line that looks like one is refused with
 * EINVAL rather than read as something near it. Words are separated by blanks or tabs; a comment has its own line. A
 * rule said twice is said once: the first line is kept.
 */
import { policyRules } from '../base/limits/objects.js';
import { isSubjectType, subjectTypeRule } from './label.js';
import {
  type Grant,
  isObjectClass,
  nameFault,
  type ObjectClass,
  objectClasses,
  type Permission,
  permissionBit,
  permissionTable,
  printGrant,
} from './permission.js';
import {
  type Line,
  meaningfulLines,
  ownText,
  quoted,
  refuse,
  refuseAt,
  type SourcePlace,
  type SourceWord,
  wordsOf,
} from './syntax.js';

const operation = 'parse policy';

export interface PolicyRule extends Grant {
  readonly subject: string;
  /** Where the rule is in its file; 0 for a rule made by a program. */
  readonly line: number;
}

/** What one subject may do: a number a name, in which each bit is a class and a permission. */
export class SubjectRules {
  readonly #names: ReadonlyMap<string, number>;

  /** Code that gives the map keeps no hold of it. */
  constructor(names: ReadonlyMap<string, number>) {
    this.#names = names;
    Object.freeze(this);
  }

  /** `bit` is `permissionBit` of the class and permission. */
  hold(name: string, bit: number): boolean {
    const held = this.#names.get(name);
    return held !== undefined && (held & bit) !== 0;
  }
}

const noRules = new SubjectRules(new Map());

/** Frozen, and its index private: nothing that holds a Policy can widen it. */
export class Policy {
  /** Named in reasons and explanations; no decision depends on it. */
  readonly file: string;
  readonly rules: readonly PolicyRule[];
  readonly #subjects = new Map<string, SubjectRules>();

  /** Rules must be valid: use `parsePolicy` or `makePolicy`. */
  constructor(file: string, rules: Iterable<PolicyRule>) {
    this.file = file;
    const kept: PolicyRule[] = [];
    const subjects = new Map<string, Map<string, number>>();
    for (const rule of rules) {
      const names = subjects.get(rule.subject) ?? new Map<string, number>();
      subjects.set(rule.subject, names);
      const held = names.get(rule.name) ?? 0;
      const bit = permissionBit(rule.class, rule.permission);
      if ((held & bit) === 0) kept.push(rule);
      names.set(rule.name, held | bit);
    }
    this.rules = Object.freeze(kept);
    for (const [subject, names] of subjects) this.#subjects.set(subject, new SubjectRules(names));
    Object.freeze(this);
  }

  of(subject: string): SubjectRules {
    return this.#subjects.get(subject) ?? noRules;
  }

  allows(subject: string, objectClass: ObjectClass, name: string, permission: Permission): boolean {
    return this.of(subject).hold(name, permissionBit(objectClass, permission));
  }

  /** The rule behind an `allows`, for explanations. */
  ruleFor(subject: string, grant: Grant): PolicyRule | undefined {
    if (!this.allows(subject, grant.class, grant.name, grant.permission)) return undefined;
    return this.rules.find(
      (rule) =>
        rule.subject === subject &&
        rule.class === grant.class &&
        rule.name === grant.name &&
        rule.permission === grant.permission,
    );
  }
}

export function allows(
  policy: Policy,
  subject: string,
  objectClass: ObjectClass,
  name: string,
  permission: Permission,
): boolean {
  return policy.allows(subject, objectClass, name, permission);
}

/** What people write from other policy languages, and why it is not here. */
function foreignSyntax(text: string): string | undefined {
  if (/[*?[\]]/.test(text)) return 'Policy v0 has no globs: write one rule for each object';
  if (/[${}%]/.test(text)) return 'Policy v0 has no variables: write the name itself';
  if (text.startsWith('/') || text.startsWith('~') || text.startsWith('.')) {
    return 'Policy v0 does not match paths: files are granted by the mount file';
  }
  return undefined;
}

function parseRule(file: string, line: Line): PolicyRule {
  const [verb, subject, object, permission, extra] = wordsOf(line.text);
  const at = (word: SourceWord | undefined, within = 0): SourcePlace => ({
    file,
    line: line.number,
    column: (word?.column ?? line.text.length + 1) + within,
  });
  if (verb?.text !== 'allow') {
    const remedy = verb?.text === 'deny' ? 'Policy v0 has no deny: leave the allow rule out' : undefined;
    return refuseAt(operation, at(verb), `expected \`allow\`, got ${quoted(verb?.text ?? '')}`, remedy);
  }
  if (subject === undefined || !isSubjectType(subject.text)) {
    const remedy = foreignSyntax(subject?.text ?? '');
    return refuseAt(operation, at(subject), `expected ${subjectTypeRule}, got ${quoted(subject?.text ?? '')}`, remedy);
  }
  const colon = object?.text.indexOf(':') ?? -1;
  if (object === undefined || colon < 0) {
    const remedy = foreignSyntax(object?.text ?? '');
    return refuseAt(operation, at(object), `expected <class>:<name>, got ${quoted(object?.text ?? '')}`, remedy);
  }
  const className = object.text.slice(0, colon);
  const objectClass = objectClasses.find((known) => known === className);
  const name = object.text.slice(colon + 1);
  if (objectClass === undefined) {
    const expected = `expected a class of ${objectClasses.join(', ')}`;
    return refuseAt(operation, at(object), `${expected}, got ${quoted(className)}`, foreignSyntax(className));
  }
  const fault = nameFault(objectClass, name);
  if (fault !== undefined) {
    const place = at(object, colon + 1);
    return refuseAt(operation, place, `expected ${fault}, got ${quoted(name)}`, foreignSyntax(name));
  }
  const permissions: readonly Permission[] = permissionTable[objectClass];
  const word = permissions.find((known) => known === permission?.text);
  if (word === undefined) {
    const expected = `expected a permission of ${objectClass}: ${permissions.join(', ')}`;
    return refuseAt(operation, at(permission), `${expected}, got ${quoted(permission?.text ?? '')}`);
  }
  if (extra !== undefined) {
    return refuseAt(operation, at(extra), `expected the end of the line, got ${quoted(extra.text)}`);
  }
  return Object.freeze({
    subject: ownText(subject.text),
    class: objectClass,
    name: ownText(name),
    permission: word,
    line: line.number,
  });
}

export function parsePolicy(text: string, file: string): Policy {
  const lines = meaningfulLines(operation, text, file);
  const beyond = lines[policyRules];
  if (beyond !== undefined) {
    refuseAt(operation, { file, line: beyond.number, column: 1 }, `expected at most ${policyRules} rules`);
  }
  return new Policy(
    file,
    lines.map((line) => parseRule(file, line)),
  );
}

/** A policy made by a program; the same grammar holds. */
export function makePolicy(file: string, rules: Iterable<Grant & { readonly subject: string }>): Policy {
  const made: PolicyRule[] = [];
  for (const { subject, class: objectClass, name, permission } of rules) {
    if (!isSubjectType(subject)) refuse('make policy', `expected ${subjectTypeRule}, got ${quoted(subject)}`);
    const fault = isObjectClass(objectClass) ? nameFault(objectClass, name) : 'a known class';
    if (fault !== undefined) refuse('make policy', `expected ${fault}, got ${quoted(`${objectClass}:${name}`)}`);
    if (permissionBit(objectClass, permission) === 0) {
      refuse('make policy', `expected a permission of ${objectClass}, got ${quoted(permission)}`);
    }
    made.push(Object.freeze({ subject, class: objectClass, name, permission, line: 0 }));
  }
  if (made.length > policyRules) refuse('make policy', `expected at most ${policyRules} rules`);
  return new Policy(file, made);
}

export function printRule(rule: Grant & { readonly subject: string }): string {
  return `allow ${rule.subject} ${printGrant(rule)}`;
}

export function printPolicy(policy: Policy): string {
  return policy.rules.map((rule) => `${printRule(rule)}\n`).join('');
}
