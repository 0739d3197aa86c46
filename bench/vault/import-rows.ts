/** First use of a directory against `cp -a`, and looking at it again, unchanged, against `find`. */
import { join } from 'node:path';
import { identityShift } from '../../src/jail/id-maps.js';
import { measure, print } from '../measure.js';
import { run, setStage } from '../stage/stage.js';
import { fillWithFiles } from './small-files.js';

export async function importRows(count: number): Promise<void> {
  const stage = setStage('import');
  try {
    const { project, directory, host, environment } = stage;
    fillWithFiles(project, count, 40);
    const shift = host.uid === 0 ? identityShift : 0;
    const [copied, imported, scan] = ['copied', 'imported', 'scan'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    const options = { cwd: directory, env: environment };
    const copy = () => host.tree.copy({ root: project, destination: imported, signatures: scan, shift });
    print(
      await measure({
        title: `Importing ${count} small files`,
        anchor: 'cp -a',
        rounds: count > 50_000 ? 5 : 9,
        warmUpRounds: 1,
        directory,
        subjects: [
          {
            name: 'cp -a',
            run: () => run('cp', ['-a', project, copied], options),
            after: () => host.tree.remove(copied),
          },
          { name: 'import', run: copy, after: () => host.tree.remove(imported) },
        ],
        notes: [
          'The import also writes the signature of every entry, and as root gives every file to the shifted owner.',
        ],
      }),
    );
    await copy();
    const again = { root: project, signatures: `${scan}.next`, against: scan };
    print(
      await measure({
        title: `Looking at ${count} unchanged files again`,
        anchor: 'find -printf',
        rounds: 21,
        directory,
        subjects: [
          { name: 'find -printf', run: () => run('find', [project, '-printf', '%p %i %s %m %C@ %T@\\n'], options) },
          {
            name: 'rescan',
            run: async () => {
              const drift = await host.tree.scan(again);
              if (drift.length > 0) throw new Error(`expected nothing changed, found ${drift.length} paths`);
            },
          },
        ],
        notes: [
          'Both start one process and stat every entry; the rescan compares with the last one and writes the next.',
        ],
      }),
    );
  } finally {
    stage.end();
  }
}
