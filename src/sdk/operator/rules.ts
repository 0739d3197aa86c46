/** What the operator lets commands do beyond the defaults: `ctx rules`. Each change is in the record before it happens. */
import { anyPublicNetwork } from '../../authority/network.js';
import { ErrnoError } from '../../base/errno.js';
import { type Action, actions, runsWithoutAsking } from '../../proxy/approval/action.js';
import type { Decision } from '../../proxy/approval/decision.js';
import { makeRule, matchText, type Rule, type RuleMatch } from '../../proxy/approval/decision-rule.js';
import { addRule, readRules, removeRule } from '../../proxy/approval/rules-file.js';
import type { Host } from '../../proxy/host.js';
import { shellCommand } from '../../proxy/run/shell-command.js';
import type { Classification, CommandForm } from '../../shell/classify.js';
import { recordedAct } from '../../workspace/recorded-verb.js';

export { type Action, actions, type Decision, matchText, type Rule, type RuleMatch };

export interface NewRule {
  readonly action: Action;
  readonly match: RuleMatch;
  /** For the commands of this agent alone; without one, for everybody's. */
  readonly agent?: string | undefined;
  /** Where no agent is named: only for commands without an agent. */
  readonly withoutAgent?: boolean | undefined;
}

export interface Tried {
  readonly decision: Decision;
  readonly classification: Classification;
  /** Whether it would simply run. */
  readonly runs: boolean;
}

export class Rules {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  list(): readonly Rule[] {
    return readRules(this.#host);
  }

  async add({ action, match, agent, withoutAgent = false }: NewRule): Promise<Rule> {
    // A rule for an agent that does not exist would wait for the process that takes its name.
    if (agent !== undefined) await this.#host.agents(agent);
    const rule = makeRule(action, agent ?? (withoutAgent ? '-' : '*'), match);
    const facts = { action, agent: rule.agent, match: matchText(rule.match) };
    const verb = { type: 'rules.add', object: `rule/${rule.id}`, durable: true, facts };
    recordedAct(this.#host, verb, () => addRule(this.#host, rule));
    return rule;
  }

  /** ENOENT where there is no such rule. */
  remove(id: string): void {
    const found = this.list().find((rule) => rule.id === id);
    if (found === undefined) {
      throw new ErrnoError('ENOENT', {
        operation: 'ctx rules rm',
        reason: `there is no rule ${id}`,
        remedy: 'ctx rules list',
      });
    }
    const facts = { action: found.action, agent: found.agent, match: matchText(found.match) };
    const verb = { type: 'rules.rm', object: `rule/${id}`, durable: true, facts };
    recordedAct(this.#host, verb, () => removeRule(this.#host, id));
  }

  /** What would be decided about a command, without running it; `networked` as if it had been granted a network. */
  async test(
    command: CommandForm,
    { agent, networked = false }: { readonly agent?: string | undefined; readonly networked?: boolean } = {},
  ): Promise<Tried> {
    const [{ judgeCommand }, { lineageOf, networkOfLine }] = await Promise.all([
      import('../../proxy/approval/decide-request.js'),
      import('../../proxy/grants/line-authority.js'),
    ]);
    const line = agent === undefined ? [] : await lineageOf(this.#host, await this.#host.agents(agent));
    const granted = networked ? anyPublicNetwork : networkOfLine(line);
    const argv = 'text' in command ? shellCommand(command.text) : command.argv;
    const { decided, classification } = await judgeCommand(this.#host, { line, network: granted }, argv);
    const { words: _words, ...decision } = decided;
    return { decision, classification, runs: runsWithoutAsking(decision) };
  }
}
