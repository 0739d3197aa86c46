/** `ctx rules`: what the operator lets commands do, beyond the defaults. */

import { anyPublicNetwork, noNetwork } from '../authority/network.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible, visibleCommand } from '../base/visible-text.js';
import type { Action } from '../proxy/action.js';
import { decide } from '../proxy/decision.js';
import { type Match, makeRule, matchText, type Rule } from '../proxy/decision-rule.js';
import { addRule, readRules, removeRule } from '../proxy/rules-file.js';
import type { CommandClass } from '../shell/classes.js';
import { classify } from '../shell/classify.js';
import { classificationJson, classificationText } from './classify.js';
import { commandForm } from './command-form.js';
import { painter, printJson } from './output.js';
import type { Arguments, Run } from './verb.js';

function line({ id, action, agent, match }: Rule): string {
  return `${id}  ${action.padEnd(21)}  ${visible(agent).padEnd(10)}  ${matchText(match)}`;
}

export const list: Run = async (call, hostOf) => {
  const rules = readRules(await hostOf());
  if (call.flag('json')) printJson({ version: 1, rules });
  else for (const rule of rules) process.stdout.write(`${line(rule)}\n`);
  return ExitCode.ok;
};

/** `ctx rules add ACTION --class CLASS`, or `ctx rules add ACTION -- WORDS`. */
function matchOf(call: Arguments): Match {
  const named = call.value('class');
  const command = call.words.slice(1);
  if ((named === undefined) === (command.length === 0)) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx rules add',
      reason: 'expected the words of a command, or --class CLASS, and not both',
      remedy: 'ctx rules add deny -- git push --force',
    });
  }
  return named === undefined ? { command } : { class: named as CommandClass };
}

const actionNames: readonly Action[] = ['allow', 'allow_with_checkpoint', 'require_approval', 'deny'];

export const add: Run = async (call, hostOf) => {
  const host = await hostOf();
  const action = actionNames.find((known) => known === call.words[0]);
  if (action === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx rules add',
      reason: `expected an action of ${actionNames.join(', ')}, got '${call.words[0] ?? ''}'`,
    });
  }
  const agent = call.value('agent');
  // A rule for an agent that does not exist would wait for whoever takes its name.
  if (agent !== undefined) await host.agents(agent);
  const rule = makeRule(action, agent ?? (call.flag('nobody') ? '-' : '*'), matchOf(call));
  const facts = { action, agent: rule.agent, match: matchText(rule.match) };
  host.recorder.append({ type: 'rules.add', object: `rule/${rule.id}`, status: 'begin', facts, durable: true });
  addRule(host, rule);
  if (call.flag('json')) printJson({ version: 1, rule });
  else process.stdout.write(`${line(rule)}\n`);
  return ExitCode.ok;
};

export const remove: Run = async (call, hostOf) => {
  const host = await hostOf();
  const [id = ''] = call.words;
  if (!readRules(host).some((rule) => rule.id === id)) {
    throw new ErrnoError('ENOENT', {
      operation: 'ctx rules rm',
      reason: `there is no rule ${id}`,
      remedy: 'ctx rules list',
    });
  }
  host.recorder.append({ type: 'rules.rm', object: `rule/${id}`, status: 'begin', durable: true });
  removeRule(host, id);
  if (call.flag('json')) printJson({ version: 1, removed: id });
  else process.stdout.write(`${painter(process.stdout)('green', `removed rule ${id}`)}\n`);
  return ExitCode.ok;
};

/** What would be decided, without running anything. The exit code is 13 where it would not simply run. */
export const test: Run = async (call, hostOf) => {
  const host = await hostOf();
  const form = commandForm(call, 'rules test');
  const classification = await classify(form);
  const agent = call.value('agent');
  const facts = agent === undefined ? undefined : await host.agents(agent);
  const granted = call.flag('networked') || (facts?.network !== undefined && facts.network.kind !== 'none');
  const { words: _words, ...decision } = decide({
    classification,
    agents: agent === undefined ? [] : [agent],
    network: granted ? anyPublicNetwork : noNetwork,
    rules: readRules(host),
  });
  const runs = decision.action === 'allow' || decision.action === 'allow_with_checkpoint';
  if (call.flag('json')) printJson({ version: 1, decision, ...classificationJson(classification) });
  else {
    const paint = painter(process.stdout);
    const by = decision.rule === 'default' ? 'by default' : `by rule ${decision.rule}`;
    const shown = 'argv' in form ? visibleCommand(form.argv) : visible(form.text);
    process.stdout.write(
      `${shown}\n${paint(runs ? 'green' : 'red', decision.action)} ${by}: ${visible(decision.reason)}\n`,
    );
    process.stdout.write(classificationText(classification, paint));
  }
  return runs ? ExitCode.ok : ExitCode.denied;
};
