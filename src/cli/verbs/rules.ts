/** `ctx rules`: what the operator lets commands do, beyond the defaults. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible, visibleCommand } from '../../base/visible-text.js';
import type { CommandClass } from '../../sdk/classify.js';
import { actions, matchText, type Rule, type RuleMatch, Rules } from '../../sdk/operator/rules.js';
import { commandForm } from '../input/command-form.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';
import { classificationJson, classificationText } from './classify.js';

function line({ id, action, agent, match }: Rule): string {
  return `${id}  ${action.padEnd(21)}  ${visible(agent).padEnd(10)}  ${matchText(match)}`;
}

export const list: Run = async (call, hostOf) => {
  const rules = new Rules(await hostOf()).list();
  if (call.flag('json')) printJson({ version: 1, rules });
  else for (const rule of rules) print(`${line(rule)}\n`);
  return ExitCode.ok;
};

/** One of the two would be passed over, and the rule be another than the one that was meant. */
function refuseBoth(one: string, other: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'ctx rules add',
    reason: `--${one} and --${other} cannot be used together`,
    remedy: 'ctx rules add --help shows the usage',
  });
}

/** `ctx rules add ACTION --class CLASS`, or `ctx rules add ACTION -- WORDS`. */
function matchOf(call: Arguments): RuleMatch {
  const named = call.value('class');
  const command = call.words.slice(1);
  if ((named === undefined) === (command.length === 0)) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx rules add',
      reason: 'expected the words of a command, or --class CLASS, and not both',
      remedy: 'ctx rules add deny -- git push --force',
    });
  }
  if (named !== undefined && call.flag('prefix')) refuseBoth('class', 'prefix');
  const prefix = call.flag('prefix') ? { prefix: true as const } : {};
  return named === undefined ? { command, ...prefix } : { class: named as CommandClass };
}

export const add: Run = async (call, hostOf) => {
  const rules = new Rules(await hostOf());
  const action = actions.find((known) => known === call.words[0]);
  if (action === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx rules add',
      reason: `expected an action of ${actions.join(', ')}, got '${call.words[0] ?? ''}'`,
    });
  }
  if (call.value('agent') !== undefined && call.flag('no-agent')) refuseBoth('agent', 'no-agent');
  const whose = { agent: call.value('agent'), withoutAgent: call.flag('no-agent') };
  const rule = await rules.add({ action, ...whose, match: matchOf(call) });
  if (call.flag('json')) printJson({ version: 1, rule });
  else print(`${line(rule)}\n`);
  return ExitCode.ok;
};

export const remove: Run = async (call, hostOf) => {
  const [id = ''] = call.words;
  new Rules(await hostOf()).remove(id);
  if (call.flag('json')) printJson({ version: 1, removed: id });
  else print(`${painter(process.stdout)('green', `removed rule ${id}`)}\n`);
  return ExitCode.ok;
};

/** What would be decided, without running anything. The exit code is 13 where it would not simply run. */
export const test: Run = async (call, hostOf) => {
  const form = commandForm(call, 'rules test');
  const { decision, classification, runs } = await new Rules(await hostOf()).test(form, {
    agent: call.value('agent'),
    networked: call.flag('networked'),
  });
  if (call.flag('json')) printJson({ version: 1, decision, ...classificationJson(classification) });
  else {
    const paint = painter(process.stdout);
    const by = decision.rule === 'default' ? 'by default' : `by rule ${decision.rule}`;
    const shown = 'argv' in form ? visibleCommand(form.argv) : visible(form.text);
    print(`${shown}\n${paint(runs ? 'green' : 'red', decision.action)} ${by}: ${visible(decision.reason)}\n`);
    print(classificationText(classification, paint));
  }
  return runs ? ExitCode.ok : ExitCode.denied;
};
