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

function rowOf(name, { kernel, node, cgroup, landlock, suites }) {
  const sum = (key) => suites.reduce((total, suite) => total + suite[key], 0);
  const names = suites.map((suite) => suite.name.replace(/\.test$/, '')).join(', ');
  const counts = `${sum('pass')} passed, ${sum('fail')} failed, ${sum('skipped')} skipped`;
  return `| ${name} | Debian's ${kernel} | ${node} | ${cgroup} | ${landlock} | ${counts} | ${names} |`;
}

const heading = '## Seen by `npm run machines`';
const head = [
  '| machine | kernel | Node | control groups | Landlock | tests | suites |',
  '|---|---|---|---|---|---|---|',
];

/** The text of docs/hosts.md with this machine's row as of now; other machines' stay. */
export function withSeen(text, name, said) {
  const at = text.indexOf(heading);
  const before = (at < 0 ? text : text.slice(0, at)).trimEnd();
  const rows =
    at < 0
      ? []
      : text
          .slice(at)
          .split('\n')
          .filter((line) => /^\| (?:amd64|arm64) \|/.test(line));
  const others = rows.filter((line) => !line.startsWith(`| ${name} |`));
  const all = [...others, rowOf(name, said)].sort();
  return `${before}\n\n${heading}\n\nEmulated in software, as root and as an unprivileged user.\n\n${[...head, ...all].join('\n')}\n`;
}
