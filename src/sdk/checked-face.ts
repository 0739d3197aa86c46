/**
 * The SDK's objects as a program gets them: every call is compared with its entry before anything starts. An entry is data: the
 * shapes of a method's arguments, and whether it answers at once. What has no entry is not there.
 */
import { ErrnoError, orSystemError } from '../base/errno.js';
import type { Shape } from '../base/shape.js';

export interface MethodEntry<Takes extends readonly Shape[] = readonly Shape[], AtOnce extends boolean = boolean> {
  readonly takes: Takes;
  /** Throws; else it rejects. */
  readonly atOnce: AtOnce;
  /** What it answers with is such an object, too. */
  readonly gives?: Entries | undefined;
}

export interface Entries {
  readonly name: string;
  readonly methods: Readonly<Record<string, MethodEntry>>;
  /** Members that are such objects. */
  readonly parts?: Readonly<Record<string, Entries>> | undefined;
}

/** A method that answers later; arguments that may be left out are at the end, and `optional`. */
export const later = <const Takes extends readonly Shape[]>(...takes: Takes): MethodEntry<Takes, false> => ({
  takes,
  atOnce: false,
});
export const atOnce = <const Takes extends readonly Shape[]>(...takes: Takes): MethodEntry<Takes, true> => ({
  takes,
  atOnce: true,
});
export const giving = <Entry extends MethodEntry>(entry: Entry, gives: Entries): Entry => ({ ...entry, gives });

type Shapes<Given extends readonly unknown[]> = { readonly [At in keyof Given]-?: Shape };
/** Whatever it takes. */
type Method = (...given: never) => unknown;
type MethodNames<Face> = { [Name in keyof Face]: Face[Name] extends Method ? Name : never }[keyof Face];
type EntryOf<Asked> = Asked extends (...given: infer Given) => infer Answer
  ? MethodEntry<Shapes<Given>, Answer extends Promise<unknown> ? false : true>
  : never;

/** Every public method of a class, with a shape for each of its parameters: the compiler sees to that. */
export const methodsOf =
  <Face>() =>
  <const Methods extends { readonly [Name in MethodNames<Face>]: EntryOf<Face[Name]> }>(methods: Methods) =>
    methods;

/** Throws EINVAL, whatever the arguments do when they are looked at. */
export function checkArguments(name: string, takes: readonly Shape[], given: readonly unknown[]): void {
  if (given.length > takes.length && given.slice(takes.length).some((each) => each !== undefined)) {
    const reason = `expected at most ${takes.length} arguments, got ${given.length}`;
    throw new ErrnoError('EINVAL', { operation: name, reason });
  }
  for (const [index, shape] of takes.entries()) {
    try {
      shape(given[index], takes.length === 1 ? name : `${name}, argument ${index + 1}`);
    } catch (error) {
      if (error instanceof ErrnoError) throw error;
      throw new ErrnoError('EINVAL', { operation: name, reason: 'the arguments could not be read', cause: error });
    }
  }
}

export function checkedFace<T extends object>(target: T, entries: Entries): T {
  const methods = new Map<string | symbol, unknown>();
  return new Proxy(target, {
    get: (_target, member) => {
      const made = methods.get(member);
      if (made !== undefined) return made;
      const value = Reflect.get(target, member, target) as unknown;
      const face = typeof member === 'symbol' ? value : faceOf(target, member, value, entries);
      if (typeof value === 'function') methods.set(member, face);
      return face;
    },
  });
}

function faceOf(target: object, member: string, value: unknown, entries: Entries): unknown {
  const part = entries.parts?.[member];
  if (part !== undefined) return checkedFace(value as object, part);
  if (typeof value !== 'function') return value;
  const entry = Object.hasOwn(entries.methods, member) ? entries.methods[member] : undefined;
  // Of every object there are: inspected, printed, awaited.
  if (entry === undefined) return member in Object.prototype ? value.bind(target) : undefined;
  return (...given: readonly unknown[]) => called(target, value, `${entries.name}.${member}`, entry, given);
}

function asOurs(error: unknown): never {
  throw orSystemError(error);
}

/** What a method finds out before it begins to wait comes as all of its failures do. */
function answerOf(
  target: object,
  method: (...given: readonly unknown[]) => unknown,
  { atOnce }: MethodEntry,
  given: readonly unknown[],
): unknown {
  try {
    const answer = Reflect.apply(method, target, given) as unknown;
    return atOnce ? answer : (answer as Promise<unknown>).catch(asOurs);
  } catch (error) {
    return atOnce ? asOurs(error) : Promise.reject(orSystemError(error));
  }
}

function called(target: object, method: unknown, name: string, entry: MethodEntry, given: readonly unknown[]): unknown {
  try {
    checkArguments(name, entry.takes, given);
  } catch (error) {
    if (entry.atOnce) throw error;
    return Promise.reject(error);
  }
  const answer = answerOf(target, method as (...args: readonly unknown[]) => unknown, entry, given);
  const { gives } = entry;
  if (gives === undefined) return answer;
  if (entry.atOnce) return checkedFace(answer as object, gives);
  return (answer as Promise<object>).then((made) => checkedFace(made, gives));
}
