/**
 * Explain: the same answers as `decide` and `decidePath`, with every step's own verdict and where it came from. Steps
 * after a refusal are shown too, so that an operator sees all that is missing at once.
 */
import { visible } from '../base/visible-text.js';
import type { Authority } from './authority.js';
import { checks, type DecisionRequest, decide } from './decide.js';
import { printLabel } from './label.js';
import { permissionBit, printGrant } from './permission.js';
import type { Policy } from './policy.js';
import { coach, controlDirectory, type DecisionStep, type Verdict } from './refusal.js';

export interface ExplainedStep {
  readonly step: DecisionStep;
  readonly verdict: 'allow' | 'refuse' | 'not asked';
  /** A file and line, an entry of the surface, or the fact it rests on. */
  readonly source: string;
  readonly text: string;
}

export interface Explanation {
  readonly verdict: Verdict;
  readonly steps: readonly ExplainedStep[];
}

function ruleSource(policy: Policy, subject: string, request: DecisionRequest): string {
  const rule = policy.ruleFor(subject, request);
  const file = visible(policy.file);
  return rule === undefined ? file : `${file}:${rule.line}`;
}

function sourceOf(step: DecisionStep, request: DecisionRequest): string {
  const { authority, object } = request;
  const { identity } = authority;
  switch (step) {
    case 'credential':
      return `uid ${identity.uid}, gid ${identity.gid}`;
    case 'mode bit':
      if (object.file === undefined) return 'no file';
      return `mode ${(object.file.mode & 0o7777).toString(8).padStart(4, '0')}, uid ${object.file.uid}, gid ${object.file.gid}`;
    case 'visibility':
      return request.class === 'network' ? `network ${authority.network.kind}` : 'view';
    case 'label':
      return printLabel(identity.label);
    case 'agent policy':
      return ruleSource(authority.policy, identity.label.type, request);
    case 'object policy':
      if (object.policy !== undefined) return ruleSource(object.policy, identity.label.type, request);
      return `${controlDirectory(request.class, request.name)}/policy`;
  }
}

function isAsked(step: DecisionStep, request: DecisionRequest): boolean {
  if (step === 'object policy') return request.class === 'tool' || request.class === 'model';
  if (step === 'mode bit')
    return request.class !== 'network' && request.permission !== 'create' && request.object.exists;
  return true;
}

export function explainDecision(request: DecisionRequest): Explanation {
  const verdict = decide(request);
  const bit = permissionBit(request.class, request.permission);
  const explained = checks.map(({ step, refuses }): ExplainedStep => {
    const reason = refuses(request, bit);
    const source = sourceOf(step, request);
    if (reason !== undefined) return Object.freeze({ step, verdict: 'refuse', source, text: coach(reason) });
    const asked = isAsked(step, request);
    const text = asked ? `allows ${printGrant(request)}` : `does not apply to ${printGrant(request)}`;
    return Object.freeze({ step, verdict: asked ? 'allow' : 'not asked', source, text });
  });
  return Object.freeze({ verdict, steps: Object.freeze(explained) });
}

/** The four layers a path meets. Guard and jail hold alike; the hook looks at grants alone, and protects more of what it works on. */
export const layers = Object.freeze(['preamble', 'hook', 'guard', 'jail'] as const);
export type Layer = (typeof layers)[number];

export interface ExplainedLayer {
  readonly layer: Layer;
  readonly verdict: 'advises' | 'allow' | 'refuse';
  readonly text: string;
}

export interface PathExplanation {
  /** The entry of the surface, or the mount, that decided. */
  readonly source: string;
  /** The host path behind it, where the subject sees it. */
  readonly host: string | undefined;
  readonly layers: readonly ExplainedLayer[];
}

/** What was decided about a path, by `decidePath` and by code that looked at what is there. */
export interface DecidedPath {
  /** Of the hook itself: it judges a call on the person's own files, not a command in the fork. */
  readonly hook: { readonly allowed: boolean; readonly text: string };
  readonly authority: Authority;
  readonly path: string;
  /** Where the same place is in the view by its own path, which says what is mounted there. */
  readonly own?: string | undefined;
  readonly access: 'read' | 'write' | 'exec';
  readonly verdict: Verdict;
}

function pathSource(request: DecidedPath): string {
  const { view } = request.authority;
  const inner = view.covering(request.own ?? request.path);
  // What is a part of the fork at both paths is shown by the mount that leads to it.
  const isMounted = inner !== undefined && (inner.of !== 'host' || inner.source !== inner.target);
  const entry = isMounted ? inner : view.covering(request.path);
  if (entry === undefined) return 'no entry of the surface or the mounts contains this path';
  const deciding = `${entry.origin} ${visible(entry.target)} (${entry.access === 'write' ? 'rw' : 'ro'})`;
  return view.locate(request.path) === undefined ? `hidden, below ${deciding}` : deciding;
}

export function explainPath(request: DecidedPath): PathExplanation {
  const { verdict } = request;
  const said = verdict.allowed ? `may ${request.access}` : coach(verdict.reason);
  const errno = verdict.allowed ? '' : `${verdict.code}: `;
  const refusals: Readonly<Record<Exclude<Layer, 'preamble' | 'hook'>, string>> = {
    guard: `${errno}${said}`,
    jail:
      !verdict.allowed && verdict.reason.kind === 'outside the view'
        ? 'ENOENT: the path does not exist in the jail'
        : `${errno}${said}`,
  };
  const explained = layers.map((layer): ExplainedLayer => {
    if (layer === 'preamble')
      return Object.freeze({ layer, verdict: 'advises', text: 'tells the agent so, but does not enforce it' });
    if (layer === 'hook') {
      const { allowed, text } = request.hook;
      return Object.freeze({ layer, verdict: allowed ? 'allow' : 'refuse', text });
    }
    if (verdict.allowed) return Object.freeze({ layer, verdict: 'allow', text: said });
    return Object.freeze({ layer, verdict: 'refuse', text: refusals[layer] });
  });
  return Object.freeze({
    source: pathSource(request),
    host: request.authority.view.locate(request.own ?? request.path)?.host,
    layers: Object.freeze(explained),
  });
}
