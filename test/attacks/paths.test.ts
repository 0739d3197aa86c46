/**
 * Ways to name, move and link files that have fooled checks of paths. Beside the project are a secret, which nothing
 * inside may read, and a directory that is shown with --read, which nothing inside may change.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cannotCompile } from '../support/attack-program.js';
import { randomFrom, testSeed } from '../support/random.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const skip = cannotCompile ?? false;
const token = 'secret-8d1f';

const world = `
  mkdir -p ../secrets ../project-secret ../shown/inner .ctx
  echo ${token} | tee ../secrets/key ../project-secret/key > ../projectkey
  for file in file file2 file3 file4 file5 inner/file; do echo kept > ../shown/$file; done
  echo '{"version":0,"repositories":[]}' > .ctx/workspace.json
  echo own > own`;

const prelude = `
  reads() { for path; do grep -qs ${token} "$path" && echo won; done; true; }
  # Without a jail it ends when it has won; a busy machine may take a while.
  case $WORLD in */plain) patience=20000 ;; *) patience=400 ;; esac
  changed() { grep -qs changed "$1" && echo won; }`;

/** Spellings of one path, by seed: all lead to the secret for anyone who may reach it. */
function spellings(count: number, random: () => number): string[] {
  const pick = <T>(...choices: readonly [T, ...T[]]): T => choices[Math.floor(random() * choices.length)] ?? choices[0];
  return Array.from({ length: count }, () => {
    let path = pick('..', '$PWD/..', '$WORLD', '/proc/self/cwd/..', '/proc/self/root$WORLD', '/dev/fd/../root$WORLD');
    const detours = Math.floor(random() * 12);
    for (let step = 0; step < detours; step += 1) {
      path += pick('/', '/.', '//', '/project/..', '/secrets/../', '/./project//../.', '/up/project/..');
    }
    return `${path}${pick('/', '//', '/./')}${pick('secrets', 'up/secrets', 'link')}${pick('/', '//', '/./', '/../secrets/')}key`;
  });
}

forEachUser((user) => {
  const stage = useWarmStage(user);
  const volley = useVolley(stage, {
    world: `${world}\nln -s . ../up; ln -s secrets ../link`,
    prelude,
    programs: skip === false ? ['attack', 'race'] : [],
    options: (place) => ['--read', `${place}/shown`],
  });
  const variants = process.env['CTX_SOAK'] === '1' ? 3000 : 150;

  volley.attack(
    `none of ${variants} spellings reaches the secret, CTX_TEST_SEED=${testSeed}`,
    spellings(variants, randomFrom(testSeed))
      .map((path) => `reads "${path}"`)
      .join('\n'),
    { times: variants },
  );
  volley.attack(
    'no chain of links reaches it',
    'ln -s ../secrets/key l0; for i in $(seq 30); do ln -s l$((i-1)) l$i; done; reads l30',
  );
  volley.attack(
    'no link reaches it that was moved with what holds it',
    'mkdir -p deep/er; ln -s ../../secrets deep/er/link; mv deep/er moved; reads moved/link/key',
  );
  volley.attack('no path of 4,095 bytes reaches it', `reads "$(printf './%.0s' $(seq 2040))../secrets/key"`);
  volley.attack(
    'no path reaches it that is longer than the kernel takes, step by step',
    `name=$(printf 'n%.0s' $(seq 250)); for i in $(seq 20); do mkdir $name && cd -P $name; done
     for i in $(seq 21); do cd -P ..; done; reads secrets/key`,
  );
  volley.attack("a directory is not shown for its name's beginning", 'reads ../project-secret/key ../projectkey', {
    times: 2,
  });
  volley.attack(
    'a directory that was opened leads no higher',
    'exec 7<..; reads /proc/self/fd/7/secrets/key /dev/fd/7/link/key; cd /dev/fd/7/secrets && reads key',
    { times: 3 },
  );
  volley.attack(
    'a component that is swapped during the call leads nowhere',
    `mkdir swapped; echo decoy > swapped/key; ln -s ../secrets to-secrets
     ./race read swapped to-secrets swapped/key ${token} $patience`,
    { skip },
  );

  volley.attack(
    'a hard link out of a read-only directory cannot be made and written through',
    'ln ../shown/file hard && echo changed > hard; changed ../shown/file',
  );
  volley.attack(
    'nor one by a descriptor',
    './attack link-descriptor ../shown/file2 hard-descriptor && echo changed > hard-descriptor; changed ../shown/file2',
    { skip },
  );
  volley.attack('a file is not moved out of it', './attack rename ../shown/inner taken && echo won', { skip });
  volley.attack('nor into it', 'echo x > evil; ./attack rename evil ../shown/evil && echo won', { skip });
  volley.attack('nor linked into it', 'ln own ../shown/linked && echo won');
  volley.attack('nor exchanged with one of it', './attack exchange own ../shown/file3 && echo won', { skip });
  volley.attack(
    'nothing is made in it, neither file, directory, link nor pipe',
    `(echo x > ../shown/new) && echo won; mkdir ../shown/made && echo won
     ln -s x ../shown/pointing && echo won; mkfifo ../shown/pipe && echo won`,
    { times: 4 },
  );
  volley.attack(
    'a file of it that is open for reading is not opened again for writing',
    'exec 7<../shown/file4; echo changed > /proc/self/fd/7; changed ../shown/file4; echo changed > /dev/fd/7; changed ../shown/file4',
    { times: 2 },
  );
  volley.attack(
    'modes, times, sizes and attributes of it stay',
    `chmod 600 ../shown/file5 && echo won; touch -d 2001-01-01 ../shown/file5 && echo won
     truncate -s 0 ../shown/file5 && echo won; rm ../shown/file5 && echo won`,
    { times: 4 },
  );
  volley.attack(
    'it is not written by a component that is swapped during the call',
    `mkdir swapping; echo decoy > swapping/file; ln -s ../shown to-shown
     ./race write swapping to-shown swapping/file changed ../shown/file $patience`,
    { skip },
  );
  volley.attack('it is not renamed itself', 'mkdir -p ../absent; ./attack rename ../shown ../hidden && echo won', {
    skip,
  });

  volley.attack(
    'the list of what commands here may see is neither written, replaced nor moved away with its directory',
    `echo changed > .ctx/workspace.json; changed .ctx/workspace.json
     echo changed > list; mv -f list .ctx/workspace.json && changed .ctx/workspace.json
     mv .ctx moved-away && mkdir .ctx && echo changed > .ctx/workspace.json && changed .ctx/workspace.json`,
    { times: 3 },
  );

  test('after all of it the host is as it was: nothing changed, nothing gone, nothing new', () => {
    assert.ok(volley.unchanged);
  });
});
