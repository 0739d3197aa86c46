/**
 * Variables that make a program run something else. A process that starts ctx may have any of them set, by a profile or
 * by a tool that an agent led astray: none reaches the command.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cannotCompile } from '../support/attack-program.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const installed = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const without = (program: string) => (installed(program) ? false : `${program} is not installed`);

const world = `
  echo 'console.log("won")' > hook.js; echo 'print("won")' > hook.py; echo 'echo won' > hook.sh
  mkdir perl python bin library; echo 'print "won\\n"; 1' > perl/Hook.pm; echo 'print("won")' > python/sitecustomize.py
  printf '#!/bin/sh\\necho won\\n' > bin/run; chmod +x bin/run; ln -s run bin/git-innocent; ln -s run bin/innocent
  printf '[alias]\\n\\tinnocent = !echo won\\n' > gitconfig
  cat > hook.c <<'end'
    extern long write(int, const char *, unsigned long); extern char *getenv(const char *); unsigned la_version(unsigned v) { return v; }
    void __attribute__((constructor)) hook(void) { if (getenv("PLAIN") || getenv("CTX_JAIL")) write(1, "won\\n", 4); }
end
  gcc -shared -fPIC -o library/hook.so hook.c 2>/dev/null || true
  git init -q repository; echo x > repository/x`;

interface Variable {
  readonly value: string;
  /** What is run; the variable makes it say `won`. */
  readonly run: string;
  /** What runs it, where that matters. */
  readonly shell?: string;
  readonly skip?: string | false;
}

/** `$P` is the project. */
const variables: Readonly<Record<string, Variable>> = {
  LD_PRELOAD: { value: '$P/library/hook.so', run: 'true', skip: cannotCompile ?? false },
  LD_AUDIT: { value: '$P/library/hook.so', run: 'true', skip: cannotCompile ?? false },
  NODE_OPTIONS: { value: '--require=$P/hook.js', run: 'node -e 0' },
  NODE_PATH: { value: '$P', run: 'cd /; node -e "require(\'hook\')"' },
  BASH_ENV: { value: '$P/hook.sh', run: 'bash -c :', skip: without('bash') },
  ENV: { value: '$P/hook.sh', run: 'sh -ic : 2>/dev/null' },
  'BASH_FUNC_ls%%': { value: '() { echo won; }', run: 'ls', shell: 'bash', skip: without('bash') },
  PYTHONSTARTUP: {
    value: '$P/hook.py',
    run: 'echo | /usr/bin/python3 -iq 2>/dev/null',
    skip: without('/usr/bin/python3'),
  },
  PYTHONPATH: { value: '$P/python', run: '/usr/bin/python3 -c 0', skip: without('/usr/bin/python3') },
  PERL5OPT: { value: '-I$P/perl -MHook', run: 'perl -e 0', skip: without('perl') },
  GIT_CONFIG_GLOBAL: { value: '$P/gitconfig', run: 'git innocent' },
  GIT_CONFIG_PARAMETERS: { value: "'alias.other=!echo won'", run: 'git other' },
  GIT_EXTERNAL_DIFF: { value: '$P/bin/run', run: 'git -C repository diff --no-index --ext-diff /dev/null x' },
  GIT_EDITOR: {
    value: 'sh $P/hook.sh',
    run: 'git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -em x',
  },
  GIT_SSH_COMMAND: { value: 'echo won >&2; false', run: 'git ls-remote ssh://nowhere.invalid/x' },
  GIT_EXEC_PATH: { value: '$P/bin', run: 'git innocent' },
  TAR_OPTIONS: { value: '--checkpoint=1 --checkpoint-action=exec=$P/bin/run', run: 'tar -cf /dev/null hook.c' },
  MAKEFLAGS: {
    value: '--eval=$(info won)',
    run: 'mkdir -p made; echo x: > made/Makefile; make -C made -n 2>/dev/null | uniq',
    skip: without('make'),
  },
  npm_config_node_options: {
    value: '--require=$P/hook.js',
    run: 'npm exec --no --offline -c "node -e 0"',
    skip: without('npm'),
  },
  RIPGREP_CONFIG_PATH: {
    value: '$P/ripgreprc',
    run: 'echo --pre=$PWD/bin/run > ripgreprc; rg wo repository/x',
    skip: without('rg'),
  },
  LESSOPEN: { value: '|$P/bin/run %s', run: 'less hook.c', skip: without('less') },
};

forEachUser((user) => {
  const stage = useWarmStage(user);
  // Into ctx itself the library may be loaded, as into all of that person's programs: it speaks up only inside.
  // One variable at a time outside: together they would be in each other's way. All at once for ctx.
  const volley = useVolley(stage, {
    world,
    prelude: 'P=$PWD',
    environment: (place) =>
      place.endsWith('/plain')
        ? {}
        : Object.fromEntries(
            Object.entries(variables).map(([name, { value }]) => [name, value.replaceAll('$P', `${place}/project`)]),
          ),
  });

  for (const [name, { value, run, shell = 'sh', skip = false }] of Object.entries(variables)) {
    // Inside nothing is set; what the caller has is in ctx's own environment.
    const given = `"${name}=${value.replaceAll('$(', '\\$(').replaceAll('$P', '$PWD')}"`;
    const script = `case $WORLD in */plain) env PLAIN=1 ${given} ${shell} -c '${run.replaceAll("'", `'\\''`)}' ;; *) ${run} ;; esac`;
    volley.attack(`${name} does not reach the command`, script, { skip });
  }

  test('nor does what an agent wrote into the files that shells and tools read at their start in your home', async () => {
    const project = stage.project();
    const files = [
      '.bashrc',
      '.profile',
      '.bash_profile',
      '.zshenv',
      '.npmrc',
      '.gitconfig',
      '.config/fish/config.fish',
    ];
    await stage.inside(
      project,
      `mkdir -p ~/.config/fish; for file in ${files.join(' ')}; do echo 'echo won' > ~/$file; done 2>/dev/null; true`,
    );
    const seen = stage.shell(project, `cd ~; for file in ${files.join(' ')}; do test ! -e $file || cat $file; done`);
    assert.equal(seen, '');
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });
});
