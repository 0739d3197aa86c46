/** Where a person is asked about a command of a kept jail's client, and what counts as an answer. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { wireKind } from '../../sdk/jail-wire.js';
import { grantWords } from '../input/kept-jail-grants.js';
import { parseArguments } from '../input/parse-arguments.js';
import { execVerb } from '../verbs/exec-verb.js';
import { verbs } from '../verbs.js';
import { ClientConnection } from './client-connection.js';
import { Client, type Exec, envelope, offered as offeredWith } from './client-fixture.js';

const grants = grantWords(parseArguments(execVerb, ['--', 'true']), {}, 'project');
const offered = (given: Partial<Parameters<typeof offeredWith>[0]> = {}) => offeredWith({ verbs, grants, ...given });

describe('a question about a command of a client', () => {
  const asked = {
    version: 2,
    id: 'abc',
    askedAt: 0,
    expiresAt: 1,
    agent: 'helper',
    argv: ['npm', 'test'],
    directory: '/work',
    origin: '/work',
    categories: ['mutating'],
    reason: 'it may change files',
    rule: 'mutating',
    connected: false,
    words: [],
    shown: [],
    onceOnly: false,
    digest: '',
    lasting: '',
  };
  type Approval = (request: unknown, signal: AbortSignal) => Promise<unknown>;

  /** Asks it while a client of these terminals waits, and has what was answered. */
  const put = async (
    terminals: string,
    request: object,
    during: (client: Client, controller: AbortController) => void,
  ) => {
    const controller = new AbortController();
    const client = new Client();
    let answered: unknown = 'nothing';
    const exec: Exec = async (asks) => {
      const waiting = (asks['onApproval'] as Approval)(request, controller.signal);
      await Promise.resolve();
      during(client, controller);
      answered = await waiting;
      return envelope;
    };
    const connection = new ClientConnection(client as unknown as Socket, offered({ exec }).served);
    const words = ['exec', '--report', 'never', '--', 'true'];
    const strings = ['/work', '', terminals, 'build', String(words.length), ...words];
    client.say(wireKind.request, Buffer.from(strings.map((each) => `${each}\0`).join('')));
    await connection.answered;
    return { client, answered };
  };

  it('is asked at the terminal of the client, and answered by the line that is typed there', async () => {
    for (const [line, granted] of [
      ['y\n', true],
      ['n\n', false],
      ['', false],
      ['constructor\n', false],
    ] as const) {
      const { client, answered } = await put('012', asked, (each) => each.say(wireKind.answer, Buffer.from(line)));
      assert.equal((answered as { granted: boolean }).granted, granted, line);
      assert.match(client.text(wireKind.question), /npm test[\s\S]*Run it \(abc\)\?/);
    }
  });

  it('is taken back where it was answered elsewhere, and a line that comes later answers nothing', async () => {
    const { client, answered } = await put('02', asked, (each, controller) => {
      controller.abort();
      each.say(wireKind.answer, Buffer.from('y\n'));
    });
    assert.equal(answered, undefined);
    assert.match(client.text(wireKind.error), /^\n/);
  });

  it('is shown, and not asked, where the client has no terminal to read from or to show it at', async () => {
    for (const terminals of ['', '0', '1', '2', '01', '12']) {
      const { client, answered } = await put(terminals, asked, (each) => each.say(wireKind.answer, Buffer.from('y\n')));
      assert.deepEqual([answered, client.of(wireKind.question).length], [undefined, 0], terminals);
      assert.match(client.text(wireKind.error), /ctx approvals grant abc, or deny/);
    }
  });

  it('is shown before it is asked where no frame of a question holds it', async () => {
    const long = { ...asked, shown: Array.from({ length: 2_000 }, (_, at) => `line ${at} of what would run`) };
    const { client } = await put('012', long, (each) => each.say(wireKind.answer, Buffer.from('y\n')));
    assert.match(client.text(wireKind.error), /line 1999 of what would run/);
    assert.doesNotMatch(client.text(wireKind.question), /line 0 of/);
    assert.match(client.text(wireKind.question), /Run it \(abc\)\?/);
  });
});
