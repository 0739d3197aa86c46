/** The same view by bubblewrap, as far as it can say it: every bind, tmpfs and link of a plan, all namespaces. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plan } from '../../src/jail/operation.js';

export function bubblewrapVersion(): string | undefined {
  const { status, stdout } = spawnSync('bwrap', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** An overlay becomes a plain bind of `workspace`: Debian 12's bubblewrap has no overlay. Masks are left out. */
export function bubblewrapArguments(plan: Plan, workspace: string, scratch: string): readonly string[] {
  mkdirSync(scratch, { recursive: true });
  let files = 0;
  const words = plan.flatMap((operation): readonly string[] => {
    switch (operation.do) {
      case 'symlink':
        return operation.path.startsWith('/dev/') ? [] : ['--symlink', operation.target, operation.path];
      case 'file': {
        const made = join(scratch, String(files++));
        writeFileSync(made, operation.content);
        return ['--ro-bind', made, operation.path];
      }
      case 'tmpfs':
        return operation.path.startsWith('/dev/') ? [] : ['--tmpfs', operation.path];
      case 'bind':
        if (operation.target.startsWith('/dev/')) return [];
        return [
          operation.attributes.includes('read only') ? '--ro-bind' : '--bind',
          operation.source,
          operation.target,
        ];
      case 'overlay':
        return ['--bind', workspace, operation.target];
      case 'proc':
        return ['--proc', operation.path];
      case 'command directory':
        return ['--chdir', operation.path];
      case 'command':
        return ['--', ...operation.argv];
      default:
        return [];
    }
  });
  return ['--unshare-all', '--die-with-parent', '--new-session', '--dev', '/dev', ...words];
}
