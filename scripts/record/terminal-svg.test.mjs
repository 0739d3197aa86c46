import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { piecesOf, terminalSvg } from './terminal-svg.mjs';

const steps = [
  { command: 'cat a > b', output: '\u001b[31mone\ntwo\u001b[0m three\n' },
  { command: 'true', output: '' },
];
const svg = terminalSvg(steps, { title: 'a <title>', columns: 40 });

describe('a recording', () => {
  it('has a line for each command and each line of output, in order', () => {
    const texts = [...svg.matchAll(/<text .*?>(.*)<\/text>/g)].map(([, text = '']) => text.replace(/<[^>]*>/g, ''));
    assert.deepEqual(texts, ['$ cat a &gt; b', 'one', 'two three', '$ true']);
  });

  it('keeps colours until they are reset, also over the end of a line', () => {
    assert.match(svg, /<tspan fill="#f47067">two<\/tspan> three/);
    assert.deepEqual(
      piecesOf('\u001b[2mdim\u001b[0m').map(({ text }) => text),
      ['dim'],
    );
  });

  it('runs no script and loads nothing, so that it may be shown as an image', () => {
    assert.doesNotMatch(svg, /<script|href|url\(|@import/);
    assert.match(svg, /<title>a &lt;title&gt;<\/title>/);
  });
});
