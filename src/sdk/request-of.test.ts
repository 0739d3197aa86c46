/** What a caller asks for, with the defaults of its project: what each adds, and whose word counts. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Opened } from '../../test/support/opened.js';
import { requestOf } from './request-of.js';

const project = `
hosts = ["example.com", "other.example:80", "api.example", "two.example"]
reads = ["/usr"]
environment = ["A=project", "B", "UNSET"]
secrets = ["api.example X-Token: $TOKEN", "api.example X-Other: $TOKEN", "two.example X-Token: $TOKEN", "api.example X-Missing: $MISSING"]
user = "1000:1001"
[limits]
memory = "1G"
processes = 5
`;
const opened = new Opened({ '.ctx/project.toml': project });
const host = opened.host({ B: 'mine' });
const place = { directory: `${opened.project}/d`, origin: opened.project };
const bare = { cwd: place.directory, environmentAdditions: [], weakened: [], wait: false };

it('is the call alone where no project is asked for, it is not confirmed, or an agent runs', async () => {
  assert.deepEqual(requestOf(host, place, {}), bare);
  const asked = { reads: ['/x'], network: ['h:1'], environment: ['C=1'], weakened: ['seccomp'], wait: true } as const;
  const { environment, ...rest } = asked;
  assert.deepEqual(requestOf(host, place, { ...asked, project: false }), {
    ...bare,
    ...rest,
    environmentAdditions: environment,
  });
  const unconfirmed = requestOf(host, place, { project: true, reads: ['/x'] });
  assert.deepEqual(
    [unconfirmed.reads, unconfirmed.network, unconfirmed.projectDefaults?.digest],
    [['/x'], undefined, null],
  );
  assert.equal(unconfirmed.projectDefaults?.warnings.length, 1);
});

it('is the call first and then the project, where it is confirmed', async () => {
  const operator = await opened.operate();
  const { digest } = await operator.trust.read(opened.project);
  await operator.trust.confirm(opened.project, digest);
  await operator.secrets.set('TOKEN', { value: 'hidden' });
  const secret = (name: string, header: string) => ({ host: name, header, port: 443, template: '$TOKEN' });
  const usr = [{ path: '/usr', target: '/usr' }];
  const whole = requestOf(host, place, { project: true });
  assert.deepEqual(whole.projectDefaults?.digest, digest);
  assert.equal(whole.projectDefaults?.warnings.length, 1);
  assert.deepEqual(
    [whole.network, whole.reads, whole.projectDefaults?.reads],
    [['example.com:443', 'other.example:80', 'api.example:443', 'two.example:443'], undefined, usr],
  );
  assert.deepEqual([whole.environmentAdditions, whole.user], [['A=project', 'B'], { uid: 1000, gid: 1001 }]);
  assert.deepEqual([whole.quota], [{ memory: 2 ** 30, pids: 5 }]);
  const found = [secret('api.example', 'X-Token'), secret('api.example', 'X-Other'), secret('two.example', 'X-Token')];
  assert.deepEqual(
    whole.secrets?.map(({ host: name, header }) => [name, header]),
    found.map(({ host: name, header }) => [name, header]),
  );
  const own = { host: 'api.example', header: 'x-token', value: 'own' };
  const both = requestOf(host, place, {
    ...{ project: true, reads: ['/x'], network: ['h:1', 'example.com:443'], environment: ['A=call'] },
    ...{ secrets: [own], user: { uid: 5 }, quota: { memory: 1, cpu: 2 } },
  });
  assert.deepEqual(
    [both.network, both.reads, both.projectDefaults?.reads],
    [['h:1', 'example.com:443', 'other.example:80', 'api.example:443', 'two.example:443'], ['/x'], usr],
  );
  assert.deepEqual([both.environmentAdditions, both.user], [['A=project', 'B', 'A=call'], { uid: 5 }]);
  assert.deepEqual(both.quota, { memory: 1, pids: 5, cpu: 2 });
  assert.deepEqual(
    both.secrets?.map(({ host: name, header }) => [name, header]),
    [
      ['api.example', 'x-token'],
      ['api.example', 'X-Other'],
      ['two.example', 'X-Token'],
    ],
  );
  assert.deepEqual(both.secrets?.[0], own);
  const loud = requestOf(host, place, { project: true, secrets: [{ ...own, host: 'API.example' }] });
  assert.equal(loud.secrets?.length, both.secrets?.length, 'the names of hosts have no case');
  assert.deepEqual(requestOf(host, place, { project: true, agent: 'coder' }), { ...bare, agent: 'coder' });
  opened.write('.ctx/project.toml', `${project}\n`);
  assert.equal(requestOf(host, place, { project: true }).projectDefaults?.digest, null);
});
