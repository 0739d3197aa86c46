/** Commands, rules and agents to ask about: what is decided beforehand is what happens. All harmless in a jail. */
import { ErrnoError, judge, type Operator, type Workspace } from 'ctxfs';
import { decisionOf } from '../../../src/proxy/approval/refused-decision.js';
import { pick, type Random } from './place.js';

const programs = ['true', '/bin/true', './true', 'ls', 'git', 'rm', 'curl', 'sudo', 'mkfs', 'env', 'sh'];
const words = [
  'status',
  'push',
  '--version',
  '/data',
  '//data',
  'x',
  '-rf',
  'install',
  '-c',
  'true',
  'http://localhost:1/',
];
const texts = ['true', 'rm x /data', 'git push || true', 'echo $(sudo true)', '$X y', 'true; curl http://localhost:1/'];
const actions = ['allow', 'allow_with_checkpoint', 'require_approval', 'deny'] as const;
const classes = ['read_only', 'mutating', 'destructive', 'networked', 'host_escape_risk', 'interactive'] as const;

function argvOf(random: Random): string[] {
  const rest = Array.from({ length: Math.floor(random() * 3) }, () => pick(random, words));
  return [pick(random, programs), ...rest];
}

/** Instead of those that there are. */
export async function chooseRules(random: Random, operator: Operator, agents: readonly string[]): Promise<void> {
  for (const { id } of operator.rules.list()) operator.rules.remove(id);
  for (let count = Math.floor(random() * 6); count > 0; count--) {
    const command = { command: argvOf(random), ...(random() < 0.3 ? { prefix: true as const } : {}) };
    const match = random() < 0.4 ? { class: pick(random, classes) } : command;
    const agent = random() < 0.4 ? pick(random, agents) : undefined;
    await operator.rules.add({ action: pick(random, actions), match, agent, withoutAgent: random() < 0.3 });
  }
}

export interface AskedCommand {
  readonly shown: string;
  readonly said: string;
  readonly happened: string;
}

const ofDecision = ({ action, rule }: { readonly action: string; readonly rule: string }) => `${action} by ${rule}`;

/** Decided beforehand, by the hook and by `ctx rules test`, and then run. */
export async function askCommand(
  random: Random,
  operator: Operator,
  workspace: Workspace,
  agent: string | undefined,
): Promise<AskedCommand> {
  const text = random() < 0.4 ? pick(random, texts) : undefined;
  const argv = argvOf(random);
  const { decision } = await operator.rules.test(text === undefined ? { argv } : { text }, { agent });
  const shown = JSON.stringify({ agent, command: text ?? argv, decision });
  if (text !== undefined) {
    const judged = await judge({ tool: 'exec', command: text }, { directory: workspace.directory, agent });
    if (judged.rewrite === undefined) return { shown, said: 'run in the jail', happened: `the hook: ${judged.reason}` };
  }
  const command = text === undefined ? argv : { shell: text };
  const said = ofDecision(decision);
  const options = { approvalMilliseconds: 1, timeoutMilliseconds: 30_000, onApproval: async () => undefined };
  const happened = await workspace.run(command, options).then(
    (envelope) => ofDecision(envelope.decision),
    (error: unknown) => {
      const refused = decisionOf(error);
      if (refused !== undefined) return ofDecision(refused);
      // It was let through, and then there was no such program.
      const isTried = error instanceof ErrnoError && error.operation === 'exec' && /program/.test(error.reason);
      return isTried && decision.action.startsWith('allow') ? said : String(error);
    },
  );
  return { shown, said, happened };
}
