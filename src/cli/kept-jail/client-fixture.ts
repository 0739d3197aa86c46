/** What tests of a kept jail's clients need: a client, and a kept jail that takes every call that is meant for it. */
import { EventEmitter } from 'node:events';
import { encodeFrame, FrameReader, type WireFrame, type wireKind } from '../../sdk/jail-wire.js';
import type { Offered } from './client-connection.js';

export class Client extends EventEmitter {
  readonly heard: WireFrame[] = [];
  readonly #reader = new FrameReader();
  destroyed = false;
  writableEnded = false;

  write(bytes: Buffer): boolean {
    this.heard.push(...this.#reader.push(bytes));
    return true;
  }
  end(bytes: Buffer): void {
    this.write(bytes);
    this.writableEnded = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  say(kind: (typeof wireKind)[keyof typeof wireKind], payload: Buffer = Buffer.alloc(0)): void {
    this.emit('data', encodeFrame(kind, payload));
  }
  of(kind: string): readonly Buffer[] {
    return this.heard.filter((frame) => frame.kind === kind).map(({ payload }) => payload);
  }
  text(kind: string): string {
    return Buffer.concat([...this.of(kind)]).toString();
  }
}

export const envelope = {
  version: 1,
  exitCode: 3,
  signal: null,
  timedOut: false,
  durationMilliseconds: 1,
  changes: [],
  pending: 0,
  refusals: [],
  connections: [],
  limitsReached: [],
  warnings: [],
  clashes: [],
  workspace: { fork: 'main' },
};

export type Exec = (command: Record<string, unknown>) => Promise<unknown>;

/** One that takes every call that is meant for it. */
export function offered(
  given: Pick<Offered, 'verbs' | 'grants'> & {
    readonly exec?: Exec;
    readonly isOwn?: boolean;
    readonly standsFor?: boolean;
    readonly takes?: boolean;
    readonly isIntact?: boolean;
  },
) {
  const seen: string[] = [];
  const { isOwn = true, standsFor = true, takes = true, isIntact = true } = given;
  const exec: Exec = async (command) => {
    seen.push('exec');
    return (given.exec ?? (async () => envelope))(command);
  };
  const served = {
    jail: { fork: 'main', exec },
    directory: '/work',
    grants: given.grants,
    project: () => 'project',
    build: 'build',
    isIntact: () => isIntact,
    verbs: given.verbs,
    isOwn: () => isOwn,
    stop: () => void seen.push('stop'),
    relay: {
      standsFor: () => standsFor,
      takes: () => takes,
      run: async (verb: { name: string }) => void seen.push(`relay ${verb.name}`),
    },
  } as unknown as Offered;
  return { served, seen };
}
