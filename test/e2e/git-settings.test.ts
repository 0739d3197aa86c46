/** The person's own git configuration inside: what it names is there, what it signs with is not, and its credentials are left out. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const token = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';

forEitherUser((user) => {
  const named = useWarmStage(user);
  const secret = useWarmStage(user);
  const repository = 'git init -q .; echo first > file; git add file; git -c commit.gpgsign=false commit -qm first';

  before(() => {
    named.shell(
      named.home,
      `mkdir -p dotfiles .config/git; ln -s dotfiles/gitconfig .gitconfig
       cat > dotfiles/gitconfig <<'END'
[user]
	name = Ada ; her name
	email = ada@home.example
	signingkey = 0000000000000000
[commit]
	gpgsign = true
	template = ~/template
[tag]
	gpgSign
[core]
	excludesFile = ~/ignored
[include]
	path = more
[includeIf "gitdir:${named.directory}/"]
	path = ~/work.inc
END
       echo '*.secret' > ignored; echo 'Why:' > template
       printf '[alias]\\n\\tmore = rev-parse --short HEAD\\n' > more
       printf '[user]\\n\\temail = ada@work.example\\n' > work.inc`,
    );
    secret.shell(
      secret.home,
      `cat > .gitconfig <<'END'
[user]
	name = Ada
	email = ada@home.example
[url "https://ada:${token}@example.com/"]
	insteadOf = https://example.com/
[http "https://example.com/"]
	extraHeader = Authorization: Basic c2VjcmV0OnZlcnlzZWNyZXQ=
[credential]
	helper = "!f() { echo password=hunter22; }; f"
[include]
	path = ~/.tokens
[alias]
	last = log -1 --format=%an
END
       printf '[github]\\n\\ttoken = ${token}\\n[alias]\\n\\tkept = rev-parse HEAD\\n' > .tokens`,
    );
  });

  test('commits inside have the name, the ignored files and the template of outside, and are not signed', async () => {
    const project = named.project(`export GIT_CONFIG_GLOBAL=$HOME/.gitconfig; ${repository}`);
    const script = `echo x > a.secret; echo y > b; git add -A; git commit -qm second; git log -1 '--format=%an <%ae> %G?'
      git show --name-only --format= HEAD; git config commit.template; cat ~/template; git tag -a -m t one; git cat-file -t one`;
    const envelope = await named.exec(project, ['sh', '-ec', script]);
    const expected = 'Ada <ada@work.example> N\nb\n~/template\nWhy:\ntag\n';
    assert.equal(envelope.stdout?.text, expected, envelope.stderr?.text);
    assert.match(envelope.warnings.join('\n'), /not signed, since your key stays outside/);
    const other = await named.exec(project, ['true']);
    assert.deepEqual(other.warnings, []);
  });

  test('objects that a repository borrows and hooks that it keeps elsewhere are said, and work when they are shown', async () => {
    const [lender, hooks] = [named.project(repository), named.project('printf "#!/bin/sh\\nexit 7\\n" > pre-push')];
    const project = named.project(
      `git clone -q --shared ${lender} here; mv here/.git .; rm -r here; git config core.hooksPath ${hooks}`,
    );
    const blind = await named.exec(project, ['sh', '-c', 'git gc -q --prune=now; git prune; git log -1']);
    assert.match(blind.warnings.join(' '), /borrows objects from .*\.git\/objects.*--read.*runs no hooks.*--read/);
    await named.json(project, ['apply']);
    named.shell(project, 'git fsck --strict; git log -1');
    const words = ['exec', '--json', '--read', `${lender}/.git/objects`, '--read', hooks, '--'];
    const { stdout } = await named.ctx(project, [...words, 'sh', '-c', `git fsck && git log --format=%s; ls ${hooks}`]);
    const seeing = JSON.parse(stdout);
    assert.deepEqual([seeing.warnings, seeing.exitCode], [[], 0], stdout);
    assert.match(seeing.stdout.text, /pre-push/);
  });

  test('no credential of the configuration is inside, and the rest of it is', async () => {
    const project = secret.project(repository);
    const script = `git last; git kept >/dev/null; env; git config --list; cat /etc/gitconfig* ~/.gitconfig ~/.tokens 2>/dev/null; true`;
    const inside = await secret.inside(project, script);
    assert.match(inside, /^Ada\n/);
    assert.doesNotMatch(inside, /ghp_|hunter22|c2VjcmV0|Authorization/);
    for (const name of ['.gitconfig', '.tokens']) {
      const { code } = await secret.ctx(project, ['why', 'read', join(secret.home, name)]);
      assert.notEqual(code, 0, name);
    }
  });

  test('a configuration in the workspace names nothing of the home, whoever includes it', async () => {
    const project = named.project(
      `${repository}; mkdir conf; printf '[include]\\n\\tpath = ${named.home}/notes\\n[core]\\n\\texcludesFile = ${named.home}/notes\\n' > conf/more
       printf '[include]\\n\\tpath = ${named.home}/notes\\n' >> .git/config; echo SECRET > ${named.home}/notes
       printf '[include]\\n\\tpath = %s/conf/more\\n' "$PWD" > ${named.home}/.config/git/config`,
    );
    assert.equal(await named.inside(project, 'cat ~/notes 2>/dev/null; true'), '');
  });
});
