/**
 * What a terminal showed, as an SVG that plays it: commands are typed, their output follows, the last picture stays. Pure. No
 * script inside, so that it may be shown as an image; a viewer without animation shows the last picture.
 */
const colours = { 31: '#f47067', 32: '#8ddb8c', 33: '#daaa3f', 34: '#6cb6ff', 1: '#ffffff', 2: '#768390' };
const plain = '#cdd9e5';
const size = { column: 8.43, row: 20, margin: 20, bar: 34 };

/** Seconds: between two letters, before a command's output, between two commands. */
const pace = { letter: 0.035, answer: 0.5, next: 1.4 };

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const rounded = (number) => Number(number.toFixed(2));

/** A line with colours of a terminal, as pieces of text with a colour each. */
export function piecesOf(line) {
  const pieces = [];
  let colour = plain;
  for (const part of line.split(/(\u001b\[[0-9;]*m)/)) {
    const code = /^\u001b\[([0-9;]*)m$/.exec(part)?.[1];
    if (code !== undefined) colour = colours[code] ?? plain;
    else if (part !== '') pieces.push({ text: part, colour });
  }
  return pieces;
}

function lineSvg(line, row, animation) {
  const y = rounded(size.bar + size.margin + row * size.row);
  const spans = piecesOf(line).map(({ text, colour }) => {
    const fill = colour === plain ? '' : ` fill="${colour}"`;
    return fill === '' ? escaped(text) : `<tspan${fill}>${escaped(text)}</tspan>`;
  });
  return `<text x="${size.margin}" y="${y}" style="${animation}">${spans.join('')}</text>`;
}

/** A colour holds until it is reset, also on the lines after it. */
function linesOf(output) {
  const whole = output.replace(/\u001b\[([1-9][0-9;]*)m([^\u001b]*)/g, (_all, code, text) =>
    text
      .split('\n')
      .map((line) => `\u001b[${code}m${line}`)
      .join('\n'),
  );
  return whole === '' ? [] : whole.replace(/\n$/, '').split('\n');
}

/** @param {{ command: string, output: string }[]} steps as they were run, output with its colours */
export function terminalSvg(steps, { title, columns }) {
  const lines = [];
  let at = 0.8;
  for (const { command, output } of steps) {
    const typing = rounded(command.length * pace.letter);
    const typed = `\u001b[32m$\u001b[0m ${command}`;
    lines.push(
      lineSvg(typed, lines.length, `animation:t ${typing}s steps(${command.length + 2}) ${rounded(at)}s both`),
    );
    at += typing + pace.answer;
    for (const line of linesOf(output)) {
      lines.push(lineSvg(line, lines.length, `animation:s 0s ${rounded(at)}s both`));
    }
    at += pace.next;
  }
  const width = Math.ceil(columns * size.column + 2 * size.margin);
  const height = size.bar + size.margin + lines.length * size.row;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" xml:space="preserve">
<title>${escaped(title)}</title>
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${plain};white-space:pre}
@keyframes s{from{opacity:0}}
@keyframes t{from{clip-path:inset(0 100% 0 0)}}
@media(prefers-reduced-motion:reduce){text{animation:none!important}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#22272e"/>
<circle cx="20" cy="18" r="6" fill="#545d68"/><circle cx="40" cy="18" r="6" fill="#545d68"/><circle cx="60" cy="18" r="6" fill="#545d68"/>
${lines.join('\n')}
</svg>
`;
}
