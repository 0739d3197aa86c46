/** `ctx policy check` and `ctx mount check`: the parsers that everything else uses, on a file of your own. */
import { parseMounts, parsePolicy } from '../../sdk/authority-files.js';
import { inputText } from '../input/input-text.js';
import { counted } from '../text/change-text.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

function say(text: string): void {
  print(`${painter(process.stdout)('green', 'ok')}  ${text}\n`);
}

export const checkPolicy: Run = async (call) => {
  const [file = ''] = call.words;
  const { rules } = parsePolicy(inputText(file), file);
  const subjects = [...new Set(rules.map(({ subject }) => subject))].sort();
  if (call.flag('json')) printJson({ version: 1, file, rules, subjects });
  else say(`${counted(rules.length, 'rule')}${subjects.length === 0 ? '' : ` for ${subjects.join(', ')}`}`);
  return 0;
};

export const checkMounts: Run = async (call) => {
  const [file = ''] = call.words;
  const mounts = parseMounts(inputText(file), file);
  if (call.flag('json')) printJson({ version: 1, file, mounts });
  else say(counted(mounts.length, 'mount'));
  return 0;
};
