/** What a machine said, and the rows of it in docs/hosts.md. Pure. */

const facts = (lines, word) =>
  lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

export function readSaid(text) {
  const lines = text.split(/\r?\n/).flatMap((line) => /@@ (.*)$/.exec(line)?.[1] ?? []);
  const suites = facts(lines, 'suite').map((line) => {
    const [name, code, pass, fail, skipped, seconds] = line.split(' ');
    return {
      name,
      code: Number(code),
      pass: Number(pass),
      fail: Number(fail),
      skipped: Number(skipped),
      seconds: Number(seconds),
    };
  });
  const landlock = facts(lines, 'doctor').find((line) => line.includes('Landlock'));
  return {
    ended: lines.includes('end'),
    kernel: facts(lines, 'kernel')[0],
    node: facts(lines, 'node')[0],
    cgroup: facts(lines, 'cgroup')[0],
    landlock: landlock?.replace(/^.*Landlock\s+/, ''),
    doctor: facts(lines, 'doctor'),
    failed: facts(lines, 'failed'),
    suites,
  };
}

const shortName = (suite) => suite.name.replace(/\.test$/, '');

/** A few suites by name, many by the number in each folder. */
function suitesOf({ suites, ended }) {
  const folders = new Map();
  for (const { name } of suites) folders.set(name.split('/')[0], (folders.get(name.split('/')[0]) ?? 0) + 1);
  const many = suites.length > 12;
  const words = many ? [...folders].map(([folder, count]) => `${count} of ${folder}`) : suites.map(shortName);
  return [...words, ...(ended ? [] : ['then cut off'])].join(', ');
}

function rowOf(name, said) {
  const { kernel, node, cgroup, landlock, suites } = said;
  const sum = (key) => suites.reduce((total, suite) => total + suite[key], 0);
  const counts = `${sum('pass')} passed, ${sum('fail')} failed, ${sum('skipped')} skipped`;
  return `| ${name} | Debian's ${kernel} | ${node} | ${cgroup} | ${landlock} | ${counts} | ${suitesOf(said)} |`;
}

const heading = '## Seen by `npm run machines`';
const head = [
  '| machine | kernel | Node | control groups | Landlock | tests | suites |',
  '|---|---|---|---|---|---|---|',
];
const isRow = (line) => /^\| (?:amd64|arm64) \|/.test(line);

/** The text of docs/hosts.md with this machine's row as of now; other machines' rows, and what is said around them, stay. */
export function withSeen(text, name, said) {
  const lines = text.trimEnd().split('\n');
  const row = rowOf(name, said);
  if (!lines.includes(heading)) {
    return `${[...lines, '', heading, '', 'Emulated in software, as root and as an unprivileged user.', '', ...head, row].join('\n')}\n`;
  }
  const others = lines.filter((line) => isRow(line) && !line.startsWith(`| ${name} |`));
  const rest = lines.filter((line) => !isRow(line));
  const at = rest.lastIndexOf(head[1]) + 1;
  return `${[...rest.slice(0, at), ...[...others, row].sort(), ...rest.slice(at)].join('\n')}\n`;
}
