import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FoundRecord } from '../../sdk/operator/record.js';
import { coconutEvent, coconutLine } from './coconut-event.js';

const record = (type: string, status: string, more: object = {}) =>
  ({
    body: { ts: '2026-01-31T12:00:00.000Z', agent: 'ada', object: 'tool/a\u001b', type, status, ...more },
  }) as FoundRecord;

test('a record has the name of its event, once for what is in several records', () => {
  const rows: readonly (readonly [string, string, object, string | undefined])[] = [
    ['exec', 'begin', {}, 'agent_spawn'],
    ['exec', 'ok', {}, 'agent_exit'],
    ['exec', 'failed', {}, 'agent_exit'],
    ['exec', 'denied', {}, 'cap_deny'],
    ['exec', 'begin', { agent: null }, undefined],
    ['exec', 'denied', { agent: null }, 'cap_deny'],
    ['exec', 'begin', { facts: { caller: 'run' } }, 'cap_use'],
    ['exec', 'ok', { facts: { caller: 'run' } }, undefined],
    ['tool.call', 'begin', {}, 'cap_use'],
    ['tool.call', 'ok', {}, undefined],
    ['connect', 'begin', {}, 'cap_use'],
    ['agent.grant', 'begin', {}, undefined],
    ['agent.grant', 'ok', {}, 'cap_grant'],
    ['agent.new', 'denied', {}, 'cap_deny'],
    ['limit', 'begin', {}, 'resource_limit'],
    ['limit', 'denied', {}, 'resource_limit'],
    ['audit.alert', 'ok', {}, 'audit_alert'],
    ['child.denied', 'denied', {}, undefined],
    ['apply', 'ok', {}, undefined],
  ];
  for (const [type, status, more, event] of rows) {
    assert.equal(coconutEvent(record(type, status, more)), event, `${type} ${status}`);
  }
});

test('its line says when, what, who and of what, with control characters escaped', () => {
  assert.equal(
    coconutLine('cap_use', record('tool.call', 'begin')),
    '2026-01-31T12:00:00.000Z  cap_use         aid=ada  tool/a\\e',
  );
});
