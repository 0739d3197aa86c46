/**
 * One command on a target that is ready, from its beginning in the record to its report. Every command has one, in a jail of its own or
 * in one that is kept.
 */
import { ErrnoError, orSystemError } from '../../base/errno.js';
import { uniqueName } from '../../base/unique-name.js';
import { secretNames } from '../grants/injected-secrets.js';
import { withheld } from '../grants/runnable.js';
import type { Host } from '../host.js';
import { heldCachesText } from '../report/held-caches.js';
import { nestingHint } from '../report/nesting-hint.js';
import { busy } from './agent-status.js';
import { type ExecRequest, shortest } from './exec-request.js';
import { type Facts, RecordedRun } from './recorded-run.js';
import { requestedOf } from './reported-request.js';
import type { JailRun } from './run.js';
import type { CommandTarget, TargetCommand, TargetReport } from './target.js';

/** Nothing where no defaults of a project counted. */
function projectFact({ projectDefaults }: ExecRequest): Facts {
  return typeof projectDefaults?.digest === 'string' ? { project: projectDefaults.digest } : {};
}

function beginFacts(request: ExecRequest, { place, resolved, facts }: CommandTarget): Facts {
  const { decision, approval } = resolved.permission;
  return {
    argv: request.argv,
    directory: place.directory,
    origin: place.origin,
    authority: resolved.digest,
    weakened: request.weakened,
    decision: { ...decision },
    approval,
    injected: secretNames(request.secrets),
    ...projectFact(request),
    ...facts,
  };
}

function unseen({ outcome }: JailRun, { code, operation, path, reason, remedy, cause }: ErrnoError): ErrnoError {
  const how = outcome.signal === null ? `exit ${outcome.exitCode}` : `killed by ${outcome.signal}`;
  const what = `the command ended (${how}), and what it changed could not be looked at: ${reason}`;
  return new ErrnoError(code, { operation, path, reason: what, remedy, cause });
}

export class CommandRun {
  /** What its jail is asked for. */
  readonly command: TargetCommand;
  readonly #request: ExecRequest;
  readonly #target: CommandTarget;
  readonly #recorded: RecordedRun;
  readonly #idle: () => void;

  private constructor(request: ExecRequest, target: CommandTarget, run: string, recorded: RecordedRun) {
    const { agent, authority } = target.resolved;
    this.#request = request;
    this.#target = target;
    this.#recorded = recorded;
    this.command = {
      run,
      view: target.view,
      events: recorded.events,
      onConnection: recorded.connections,
      outputs: target.outputsOf(run),
      onOutput: request.onOutput,
      timeoutMilliseconds: shortest(request.timeoutMilliseconds, authority.quota.wallTime),
    };
    // A command beside its caller is a part of that one.
    this.#idle = busy(request.isBeside === true ? undefined : agent);
  }

  /** That it begins is in the record before it does. */
  static begin(host: Host, request: ExecRequest, target: CommandTarget): CommandRun {
    const { agent } = target.resolved;
    const run = uniqueName();
    const recorded = RecordedRun.begin(host, {
      run,
      note: target.note,
      whose: { object: target.object, agent: agent?.name, parent: agent?.parent?.agent },
      facts: beginFacts(request, target),
      onLimit: request.onLimit,
      signal: request.signal,
    });
    return new CommandRun(request, target, run, recorded);
  }

  /** It did not run, or no one knows how it ended. */
  fail(error: unknown): void {
    this.#idle();
    this.#recorded.fail(error);
  }

  /** It runs no longer. */
  ran(): void {
    this.#idle();
  }

  /** What it did. Where that cannot be seen there is no report, and how it ended is in the record all the same. */
  async seen<Seen>(ran: JailRun, look: () => Promise<Seen>): Promise<Seen> {
    try {
      return await look();
    } catch (thrown) {
      const error = orSystemError(thrown);
      this.end(ran, { unseen: error instanceof ErrnoError ? error.code : 'EIO' });
      throw error instanceof ErrnoError ? unseen(ran, error) : error;
    }
  }

  /** `did`: what was seen of it afterwards. */
  end(ran: JailRun, did: Facts): TargetReport {
    const { argv, weakened, projectDefaults } = this.#request;
    const { place, resolved, isLive } = this.#target;
    const { agent, digest, permission } = resolved;
    const { report, heldCaches, unwritten } = this.#recorded.end(ran, did);
    return {
      version: 1,
      argv,
      directory: place.directory,
      request: requestedOf(this.#request, isLive),
      agent: agent?.name ?? null,
      authority: digest,
      decision: permission.decision,
      approval: permission.approval,
      ...report,
      weakened,
      warnings: [
        ...unwritten,
        ...heldCachesText(heldCaches),
        ...nestingHint(report),
        ...(report.exitCode === 0 ? [] : permission.hints),
        ...(projectDefaults?.warnings ?? []),
        ...resolved.warnings,
        ...withheld(place, resolved),
      ],
    };
  }
}
