/**
 * Names of tests and how each ended, from what a suite printed: TAP, Node's and mocha's spec, pytest, go, cargo, maven, make check,
 * ctest, prove, JUnit.
 * Times and colours are left out. Where nothing of it is recognised the lines themselves are the list. Pure.
 */

const colours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** Each gives a name and an outcome; the first that fits a line takes it. */
const forms = [
  [/^\s*(not ok|ok) \d+(?: -)? (.*?)(?: # (?:time|duration).*)?$/, ([, outcome, name]) => [name, outcome]],
  [/^\s*(✔|✓|√)\s+(.*)$/, ([, , name]) => [name, 'ok']],
  [/^\s*(✖|✗|×)\s+(.*)$/, ([, , name]) => [name, 'not ok']],
  [/^\s*(?:﹣|-) (.*) # SKIP/, ([, name]) => [name, 'skipped']],
  [/^\s*\d+\) (.*)$/, ([, name]) => [name, 'not ok']],
  [/^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b/, ([, name, outcome]) => [name, outcome]],
  [/^\s*--- (PASS|FAIL|SKIP): (\S+)/, ([, outcome, name]) => [name, outcome]],
  [
    /^(ok|FAIL|\?)\s+(\S+\/\S+|\S+)\s+(?:[\d.]+s|\(cached\)|\[no test files\]|\[build failed\])/,
    ([, outcome, name]) => [name, outcome],
  ],
  [/^test (.+?) \.\.\. (ok|FAILED|ignored)/, ([, name, outcome]) => [name, outcome]],
  [/^(?:\[\w+\] )?Tests run: .* (?:in|-- in) (\S+)/, (match) => [match[1], match[0].replace(/, Time.*/, '')]],
  [/^(PASS|FAIL|XFAIL|SKIP|ERROR): (.*)$/, ([, outcome, name]) => [name, outcome]],
  [/^\s*\d+\/\d+ Test\s+#\d+: (\S+) \.+\s*(Passed|\*\*\*[\w ]+?)\s+[\d.]+ sec/, ([, name, outcome]) => [name, outcome]],
  [/^(\S+\.t) \.{2,} (ok|skipped|Failed|Dubious)/, ([, name, outcome]) => [name, outcome]],
];

const timing = /\s*[([](?:\d+(?:\.\d+)?\s?(?:ms|s|m|µs))[)\]]\s*$|\s+\d+(?:\.\d+)?\s?(?:m?s|(?:milli-?)?seconds)\s*$/;

function add(results, name, outcome) {
  const plain = name.replace(timing, '').trim();
  // One name may be used by several tests: they are counted.
  let numbered = plain;
  for (let count = 2; results.has(numbered); count += 1) numbered = `${plain} (${count})`;
  results.set(numbered, outcome);
}

export function resultsOf(text, reports = []) {
  const results = new Map();
  for (const report of reports) {
    for (const [, attributes, body = ''] of report.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
      const attribute = (name) => new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
      const outcome = /<(failure|error|skipped)\b/.exec(body)?.[1] ?? 'ok';
      add(results, `${attribute('classname')} ${attribute('name')}`, outcome);
    }
  }
  if (results.size > 0) return results;
  const lines = text.replace(colours, '').replaceAll('\r', '').split('\n');
  for (const line of lines) {
    for (const [pattern, read] of forms) {
      const match = pattern.exec(line);
      if (match === null) continue;
      const [name = '', outcome = ''] = read(match);
      add(results, name, outcome);
      break;
    }
  }
  if (results.size > 0) return results;
  for (const line of lines.filter((each) => each.trim() !== '')) {
    add(results, line.replace(/\bin \d+(\.\d+)? ?s(econds)?\b/g, ''), 'printed');
  }
  return results;
}

/** As lists: order is chance where suites run in parallel. */
export function compared(outside, inside) {
  const lines = [];
  for (const [name, outcome] of outside) {
    const other = inside.get(name);
    if (other !== outcome) lines.push(`${name}: ${outcome} outside, ${other ?? 'not there'} inside`);
  }
  for (const name of inside.keys()) if (!outside.has(name)) lines.push(`${name}: ${inside.get(name)} inside only`);
  return { lines, same: lines.length === 0 };
}
