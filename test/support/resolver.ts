/** A resolver of the test's own under a real ctx: names of `.test` are answered from a file, each time by the next line. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Stage } from './stage.js';

/** Loaded into ctx's own Node, as a host's resolver would be beneath it. */
const replacement = (answers: Readonly<Record<string, readonly string[]>>) => `
  const { Resolver } = require('node:dns/promises');
  const answers = ${JSON.stringify(answers)};
  const asked = {};
  const real = { 4: Resolver.prototype.resolve4, 6: Resolver.prototype.resolve6 };
  for (const family of [4, 6]) {
    Resolver.prototype['resolve' + family] = async function (host) {
      const known = answers[host];
      if (known === undefined) return real[family].call(this, host);
      // Both families are asked for in one lookup: the first question counts it.
      if (family === 4) asked[host] = (asked[host] ?? -1) + 1;
      const address = known[Math.min(asked[host], known.length - 1)];
      if ((family === 6) === address.includes(':')) return [address];
      throw Object.assign(new Error('no such answer'), { code: 'ENODATA' });
    };
  }`;

/** The file is whole at any time, and never another's: tests run side by side, and each ctx that they start reads it. */
function ctxWith(stage: Stage, code: string): readonly string[] {
  const file = join(stage.directory, `resolver-${createHash('sha256').update(code).digest('hex').slice(0, 16)}.cjs`);
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, code);
    chmodSync(`${file}.new`, 0o644);
    renameSync(`${file}.new`, file);
  }
  return ['node', '--require', file, join(dirname(stage.program), '..', 'dist', 'cli', 'ctx.cjs')];
}

/** The words that run ctx with these names: the last address of each stays. */
export function ctxResolving(stage: Stage, answers: Readonly<Record<string, readonly string[]>>): readonly string[] {
  return ctxWith(stage, replacement(answers));
}

/** The words that run ctx as it would on a host with this one server, by the resolver that it has. */
export function ctxAsking(stage: Stage, server: string): readonly string[] {
  return ctxWith(
    stage,
    `const { Resolver } = require('node:dns/promises');
     const real = Resolver.prototype.resolve4;
     // Asked for first; once a question is under way the servers cannot be changed.
     Resolver.prototype.resolve4 = function (host) { this.setServers(['${server}']); return real.call(this, host); };`,
  );
}
