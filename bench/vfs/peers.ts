/** Other filesystems for programs, each behind the few calls that are measured. One that cannot be had here is a note. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Calls {
  writeFile(path: string, bytes: Buffer): Promise<unknown>;
  readFile(path: string): Promise<unknown>;
  stat(path: string): Promise<unknown>;
  readdir(path: string): Promise<unknown>;
  mkdir(path: string): Promise<unknown>;
  rename(path: string, newPath: string): Promise<unknown>;
  unlink(path: string): Promise<unknown>;
}

/** What a package gives, without its types: they are not installed where this is compiled. */
// biome-ignore lint/suspicious/noExplicitAny: as above
type Package = any;

const packages: Readonly<Record<string, (found: Package) => Promise<Calls>>> = {
  memfs: async ({ memfs }) => memfs().fs.promises,
  '@zenfs/core': async ({ configureSingle, InMemory, promises }) => {
    await configureSingle({ backend: InMemory });
    return promises;
  },
  'just-bash': async ({ InMemoryFs }) => {
    const fs = new InMemoryFs();
    return {
      writeFile: (path, bytes) => fs.writeFile(path, bytes),
      readFile: (path) => fs.readFileBuffer(path),
      stat: (path) => fs.stat(path),
      readdir: (path) => fs.readdir(path),
      mkdir: (path) => fs.mkdir(path),
      rename: (path, newPath) => fs.mv(path, newPath),
      unlink: (path) => fs.rm(path),
    };
  },
  'agentfs-sdk': async ({ AgentFS }) => (await AgentFS.open({ path: ':memory:' })).fs,
};

export interface Peers {
  readonly directory: string;
  readonly all: readonly (readonly [string, Calls])[];
  readonly notes: readonly string[];
}

export async function installPeers(): Promise<Peers> {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-bench-'));
  const names = Object.keys(packages);
  const words = [
    'install',
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefix',
    directory,
    ...names,
  ];
  const { status } = spawnSync('npm', words, { stdio: 'ignore', timeout: 300_000 });
  const notes: string[] = status === 0 ? [] : ['npm could not install all of the others'];
  const all: (readonly [string, Calls])[] = [];
  const require = createRequire(join(directory, 'x.js'));
  for (const [name, open] of Object.entries(packages)) {
    try {
      const found: Package = await import(pathToFileURL(require.resolve(name)).href);
      const { version } = require(join(directory, 'node_modules', name, 'package.json')) as { version: string };
      all.push([`${name} ${version}`, await open(found)]);
    } catch (error) {
      notes.push(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : error}`);
    }
  }
  return { directory, all, notes };
}
