/** Who a command is: every kind of isolation, for root and for a person, said once more in the words of docs/objects.md. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Identity } from '../../authority/authority.js';
import { shiftedCount } from '../../jail/id-maps.js';
import { fitsShift, type IdentityOf, jailIdentity, ownerOfFiles, ownersOf } from './jail-identity.js';

const shift = 1 << 30;
const person = { uid: 1000, gid: 1001, shift: 0 };
const ofRoot = { ...person, shift };

function of(identity: Partial<Identity>, agent: string | undefined = 'coder'): IdentityOf {
  const whole = { uid: 1000, gid: 1001, groups: [], isolation: 'shared', ...identity };
  const named = agent === undefined ? undefined : { name: agent };
  return { authority: { identity: whole }, agent: named } as unknown as IdentityOf;
}

it('a person’s command is the person, or has ids inside that are its own', () => {
  const self = { kind: 'self', uid: 1000, gid: 1001 };
  assert.deepEqual(jailIdentity(person, of({ uid: 5, gid: 6, groups: [7] })), self);
  assert.deepEqual(jailIdentity(person, of({ isolation: 'userns', uid: 5, gid: 6 })), { ...self, uid: 5, gid: 6 });
  // Without an agent, what was asked for is given, also where it is nobody's own.
  for (const [uid, gid] of [
    [0, 0],
    [1000, 1001],
    [5, 1001],
  ] as const) {
    assert.deepEqual(jailIdentity(person, { ...of({ isolation: 'userns', uid, gid }), agent: undefined }), {
      kind: 'self',
      uid,
      gid,
    });
  }
});

it('root’s command is the owner of the workspace, shifted, or has ids that are its own, inside or outside too', () => {
  const shifted = { kind: 'shifted', uid: 1000, gid: 1001, shift };
  const owner = { uid: 1000, gid: 1001 };
  const groups = [4, 5];
  assert.deepEqual(jailIdentity(ofRoot, of({ uid: 5, gid: 6 })), shifted);
  assert.deepEqual(jailIdentity(ofRoot, of({ groups })), { ...shifted, groups });
  for (const [uid, gid] of [
    [5, 6],
    [5, 1001],
    [1000, 6],
  ] as const) {
    const given = { uid, gid, groups };
    const uidOfItsOwn = { ...shifted, uid, gid, groups, owner };
    assert.deepEqual(jailIdentity(ofRoot, of({ ...given, isolation: 'uid' })), uidOfItsOwn, `${uid}:${gid}`);
    const asked = { ...of({ ...given, isolation: 'userns' }), agent: undefined };
    assert.deepEqual(jailIdentity(ofRoot, asked), { ...shifted, uid, gid, groups, outside: owner }, `${uid}:${gid}`);
  }
  const numbered = jailIdentity(ofRoot, of({ uid: 5, gid: 6, groups: [6, 7, 1001], isolation: 'userns' }));
  assert.deepEqual(numbered.kind === 'shifted' && numbered.groups, [1001, 7, 6], 'by their numbers outside');
  assert.deepEqual(jailIdentity(ofRoot, of({ isolation: 'uid' })), shifted, 'those of the owner need nothing');
  assert.deepEqual(jailIdentity(ofRoot, { ...of({ isolation: 'userns' }), agent: undefined }), shifted);
});

it('the ids of an agent that would be its person’s, or root’s, are nobody’s, and always the same', () => {
  for (const [owner, first, last] of [
    [person, 0x60000000, 0x60ffffff],
    [ofRoot, 0x0e000000, 0x0effffff],
  ] as const) {
    const ids = (name: string, uid: number, gid: number) => {
      const found = jailIdentity(owner, of({ isolation: 'userns', uid, gid }, name));
      return [found.uid, found.gid];
    };
    const [own = 0] = ids('coder', 0, 0);
    assert.ok(own >= first && own <= last, own.toString(16));
    assert.deepEqual(ids('coder', 1000, 1001), [own, own]);
    assert.deepEqual(ids('coder', 1001, 1000), [1001, 1000], 'the number of the person’s group is no uid of theirs');
    assert.deepEqual(ids('coder', 5, 0), [5, own]);
    assert.notEqual(ids('reviewer', 0, 0)[0], own);
  }
  // SHA-256 of the name, its first six digits.
  assert.equal(jailIdentity(person, of({ isolation: 'userns', uid: 0 }, 'abc')).uid, 0x60000000 + 0xba7816);
  assert.deepEqual([fitsShift(0), fitsShift(shiftedCount - 1), fitsShift(shiftedCount)], [true, true, false]);
});

it('files are those of whom the command is outside, and a fork is shown as another’s only where it has a uid of its own', () => {
  const numbers = { uid: 5, gid: 6 };
  const asked = { ...of({ ...numbers, isolation: 'userns' }), agent: undefined };
  const ids = ({ uid, gid }: { readonly uid: number; readonly gid: number }) => `${uid}:${gid}`;
  assert.equal(ids(ownerOfFiles(person, asked)), '1000:1001');
  assert.equal(ids(ownerOfFiles(ofRoot, asked)), '1000:1001');
  assert.equal(ids(ownerOfFiles(ofRoot, of({ ...numbers, isolation: 'uid' }))), '5:6');
  assert.equal(ids(ownerOfFiles(ofRoot, of({}))), '1000:1001');
  const shown = (owner: typeof person, resolved: IdentityOf) => ownersOf({ owner }, resolved);
  assert.equal(shown(ofRoot, of({ ...numbers, isolation: 'uid' })), '5:6');
  for (const each of [of({}), of({ isolation: 'uid' }), asked]) assert.equal(shown(ofRoot, each), '');
  assert.equal(shown(person, asked), '');
});
