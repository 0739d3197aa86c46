/**
 * Layer 1: the surface as text for a system prompt. Advisory: it makes the right thing the easy one and holds no one.
 * Short, and the same text for the same Authority. Paths are data in a prompt, so each is one quoted line without
 * control characters: a directory name must not read as an instruction of its own. What is hidden is not listed.
 */
import { preamblePaths } from '../base/limits/objects.js';
import { visible } from '../base/visible-text.js';
import type { Authority } from './authority.js';

const plainPath = /^[A-Za-z0-9_@%+=:,./-]+$/;

function shown(path: string): string {
  return plainPath.test(path) ? path : `"${visible(path).replaceAll('"', '\\"')}"`;
}

function section(heading: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const listed = paths.slice(0, preamblePaths).map((path) => `- ${shown(path)}`);
  const more = paths.length - listed.length;
  return [heading, ...listed, ...(more > 0 ? [`- and ${more} more`] : [])];
}

function networkLine(authority: Authority): string {
  const { network } = authority;
  switch (network.kind) {
    case 'none':
      return 'Network: none.';
    case 'any public':
      return 'Network: any public host, through the proxy that the environment names.';
    case 'hosts': {
      const listed = network.hosts.slice(0, preamblePaths).join(', ');
      const more = network.hosts.length - preamblePaths;
      return `Network: only ${listed}${more > 0 ? ` and ${more} more` : ''}, through the proxy that the environment names.`;
    }
  }
}

/** What the jail has beside the surface and the mounts. */
export interface PrivatePlaces {
  /** Whether the agent's objects are at /ctx. */
  readonly objects: boolean;
  /** `$HOME` and the like, as they are named to people. */
  readonly writable: readonly string[];
}

function privateLines({ objects, writable }: PrivatePlaces): readonly string[] {
  const tools =
    'Your tools are programs in /ctx/tool. Each takes JSON, as its argument or on stdin; NAME.d/schema says what.';
  const own = `You may also write to ${writable.join(' and ')}: they are your own, and not part of your work.`;
  return [...(objects ? [tools] : []), ...(writable.length > 0 ? [own] : [])];
}

export function preamble(authority: Authority, places: PrivatePlaces = { objects: false, writable: [] }): string {
  const { view, surface } = authority;
  const writable = view.allowedWrites().filter((entry) => entry.target !== surface.cwd);
  const readable = view.allowedReads().filter((entry) => entry.access === 'read' && entry.origin !== 'systemReads');
  const cwdIsWritable = view.accessTo(surface.cwd) === 'write';
  const lines = [
    `You work in ${shown(surface.cwd)}${cwdIsWritable ? ', where you may read and write' : ', where you may only read'}.`,
    ...section(
      'You may also read and write:',
      writable.map((entry) => entry.target),
    ),
    ...section(
      'You may read, but not write:',
      readable.map((entry) => entry.target),
    ),
    'Installed programs and libraries of the system are readable. The most specific path above decides.',
    ...privateLines(places),
    networkLine(authority),
    'Everything else does not exist for you; the kernel holds this line, so do not try ways around a refusal.',
    'If a task needs more, say which path or host and why, and an operator can grant it.',
  ];
  return `${lines.join('\n')}\n`;
}
