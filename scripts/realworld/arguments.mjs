/** What `npm run realworld` is asked for. */
import { parseArgs } from 'node:util';

/** parseArgs takes a value that starts with a dash only behind `=`, and the options of `ctx exec` all do. */
const joined = (args) =>
  args.flatMap((word, index) => {
    if (word === '--exec' && index + 1 < args.length) return [`--exec=${args[index + 1]}`];
    return args[index - 1] === '--exec' ? [] : [word];
  });

export function readArguments(args) {
  const { values, positionals } = parseArgs({
    args: joined(args),
    allowPositionals: true,
    options: { exec: { type: 'string', default: '' }, keep: { type: 'boolean', default: false } },
  });
  return {
    projects: positionals,
    keep: values.keep,
    execOptions: values.exec.split(' ').filter((word) => word !== ''),
  };
}
