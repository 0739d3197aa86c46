/**
 * Where the keepers of warm stages are (test/support/warm-calls.ts): one a user, started by the first that needs it,
 * ended with the run.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCheckout } from '../setup/checkout.mjs';

const support = (name) => import(inCheckout('dist', 'js', 'test', 'support', name));

export async function keepersOfRun() {
  const [{ users }, { keepCompany, keeperOf }] = await Promise.all([support('users.js'), support('keeper.js')]);
  const directory = mkdtempSync(join(tmpdir(), 'ctx-keepers-'));
  chmodSync(directory, 0o755);
  const companies = users().map(keepCompany);
  return {
    directory,
    end() {
      for (const uid of readdirSync(directory)) {
        const pid = keeperOf(join(directory, uid));
        if (pid !== undefined) process.kill(pid, 'SIGTERM');
      }
      for (const company of companies) company.end();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
