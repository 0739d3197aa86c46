/** A fork made ready before there is a command: the directory imported, the person's edits taken over, other roots added. */
import { closeFork, openFork } from '../vault/vault.js';
import { type Host, placeOf } from './host.js';
import type { Envelope } from './report/envelope.js';
import { authorityToPrepare } from './run/authority-for.js';
import type { ExecRequest } from './run/exec-request.js';
import { readyFork } from './run/ready-fork.js';

export type PrepareRequest = Omit<
  ExecRequest,
  'argv' | 'streams' | 'timeoutMilliseconds' | 'environmentAdditions' | 'onOutput'
>;

export interface Prepared
  extends Pick<Envelope, 'workspace' | 'agent' | 'authority' | 'roots' | 'checkpoint' | 'entered' | 'clashes'> {
  /** The directory was seen for the first time. */
  readonly imported: boolean;
  readonly problems: readonly { readonly path: string; readonly reason: string }[];
}

export async function prepareFork(host: Host, request: PrepareRequest): Promise<Prepared> {
  const place = placeOf(host, request.cwd);
  const whole = { ...request, streams: 'capture', environmentAdditions: [] } as const;
  const resolved = await authorityToPrepare(host, place, whole);
  const { origin, owner } = place;
  const { store, tree } = host;
  const purpose = 'ctx prepare';
  const opened = await openFork({ ...request, store, tree, origin, owner, look: true, purpose });
  for (const text of opened.warnings ?? []) host.warn?.(text);
  try {
    const { fork, checkpoint, entered, clashes, problems } = await readyFork(host, place, opened, resolved, {
      ...whole,
      argv: ['ctx', 'prepare'],
    });
    return {
      workspace: { origin, vault: fork.id, fork: fork.name },
      agent: resolved.agent?.name ?? null,
      authority: resolved.digest,
      roots: resolved.roots,
      checkpoint,
      imported: opened.imported,
      entered,
      clashes,
      problems: [...opened.problems, ...problems].map(({ path, reason }) => ({ path, reason })),
    };
  } finally {
    closeFork(opened);
  }
}
