/** The fixed table of Policy v0: which permissions each object class has, and how its objects are named. */
import { isModelName, isObjectName, modelNameRule, objectNameRule } from './name.js';

export const permissionTable = Object.freeze({
  tool: Object.freeze(['execute'] as const),
  model: Object.freeze(['use'] as const),
  shared: Object.freeze(['read', 'write'] as const),
  session: Object.freeze(['read', 'write', 'resume'] as const),
  mount: Object.freeze(['read', 'write'] as const),
  agent: Object.freeze(['create', 'start', 'stop', 'read', 'write'] as const),
  network: Object.freeze(['connect'] as const),
});

export type ObjectClass = keyof typeof permissionTable;
export type Permission = (typeof permissionTable)[ObjectClass][number];

export interface Grant {
  readonly class: ObjectClass;
  readonly name: string;
  readonly permission: Permission;
}

export const objectClasses = Object.freeze(Object.keys(permissionTable) as ObjectClass[]);

// Maps, not objects: `constructor` and `__proto__` are not classes. One bit for each pair of class and permission, so
// that all a subject may do to one name is a single number.
const bits: ReadonlyMap<string, ReadonlyMap<string, number>> = (() => {
  let next = 1;
  const bit = () => {
    const own = next;
    next *= 2;
    return own;
  };
  return new Map(objectClasses.map((name) => [name, new Map(permissionTable[name].map((each) => [each, bit()]))]));
})();

export function isObjectClass(text: string): text is ObjectClass {
  return bits.has(text);
}

/** 0 where there is no such class, or the class has no such permission. */
export function permissionBit(objectClass: string, permission: string): number {
  return bits.get(objectClass)?.get(permission) ?? 0;
}

/** What a name of this class must look like, or undefined where `name` is one. */
export function nameFault(objectClass: ObjectClass, name: string): string | undefined {
  if (objectClass === 'network') return name === 'default' ? undefined : 'the only network object, `default`';
  if (objectClass === 'model') return isModelName(name) ? undefined : modelNameRule;
  return isObjectName(name) ? undefined : objectNameRule;
}

export function printGrant(grant: Grant): string {
  return `${grant.class}:${grant.name} ${grant.permission}`;
}
