/** A resolver of the test's own under a real ctx: names of `.test` are answered from a file, each time by the next line. */
import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Stage } from './stage.js';

/** Loaded into ctx's own Node, as a host's resolver would be beneath it. */
const replacement = (answers: Readonly<Record<string, readonly string[]>>) => `
  const dns = require('node:dns/promises');
  const answers = ${JSON.stringify(answers)};
  const asked = {};
  const real = dns.lookup;
  dns.lookup = async (host, options) => {
    const known = answers[host];
    if (known === undefined) return real(host, options);
    asked[host] = (asked[host] ?? -1) + 1;
    const address = known[Math.min(asked[host], known.length - 1)];
    return [{ address, family: address.includes(':') ? 6 : 4 }];
  };`;

/** The words that run ctx with these names: the last address of each stays. */
export function ctxResolving(stage: Stage, answers: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const file = join(stage.directory, `resolver-${Object.keys(answers).join('-')}.cjs`);
  writeFileSync(file, replacement(answers));
  chmodSync(file, 0o644);
  return ['node', '--require', file, join(dirname(stage.program), '..', 'dist', 'cli', 'ctx.cjs')];
}
