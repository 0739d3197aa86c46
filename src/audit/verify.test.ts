import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { isTornName, segmentName } from './layout.js';
import { directoryReader } from './reader.js';
import { recordPlace } from './record-fixture.js';
import { verify } from './verify.js';

it('what a crash left and was set aside is told of where it was changed since', () => {
  const place = recordPlace();
  try {
    const directory = join(place.directory, 'person');
    const append = () => place.recorder().append({ type: 'exec', object: 'x', status: 'ok' });
    append();
    appendFileSync(join(directory, segmentName(1)), 'half a rec');
    append();
    const torn = readdirSync(directory).filter(isTornName);
    assert.equal(torn.length, 1);
    const told = () =>
      verify({ reader: directoryReader(place.directory), anchors: [] })
        .warnings.filter(({ fault }) => fault === 'torn')
        .map(({ text }) => text);
    assert.deepEqual(
      told().filter((text) => /differs from what was set aside/.test(text)),
      [],
    );
    writeFileSync(join(directory, torn[0] ?? ''), 'half a red');
    assert.match(told().join(), /differs from what was set aside/);
  } finally {
    place.remove();
  }
});
