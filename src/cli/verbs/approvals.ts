/** `ctx approvals`: commands that wait for a person, and the answers. Nothing in a jail can get here: it has no store. */
import { ExitCode } from '../../base/errno.js';
import { timeText } from '../../base/time-text.js';
import { visible, visibleCommand } from '../../base/visible-text.js';
import { withDefaultPort } from '../../sdk/network-name.js';
import { type ApprovalScope, type ApprovalStatus, Approvals, type Waiting } from '../../sdk/operator/approvals.js';
import { askedLines } from '../input/ask-approval.js';
import { type Paint, painter, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

function approvalJson({ asked, status, answer }: Waiting): object {
  return { ...asked, status, answer: answer ?? null };
}

const colours: Readonly<Record<ApprovalStatus, Parameters<Paint>[0]>> = {
  waiting: 'yellow',
  granted: 'green',
  used: 'dim',
  denied: 'red',
  expired: 'dim',
};

function line({ asked, status }: Waiting, paint: Paint): string {
  const who = asked.agent ?? '-';
  return `${asked.id}  ${paint(colours[status], status.padEnd(7))}  ${visible(who).padEnd(10)}  ${visibleCommand(asked.argv)}`;
}

export const list: Run = async (call, hostOf, _hookHost, { stdout, environment }) => {
  const shown = new Approvals(await hostOf()).list({ all: call.flag('all') });
  if (call.flag('json')) printJson({ version: 1, approvals: shown.map(approvalJson) }, stdout);
  else for (const each of shown) stdout.write(`${line(each, painter(stdout, environment))}\n`);
  return ExitCode.ok;
};

export const show: Run = async (call, hostOf, _hookHost, { stdout, environment }) => {
  const approvals = new Approvals(await hostOf());
  const approval = approvals.one(call.words[0] ?? '');
  const steps = approvals.steps(approval.asked.id);
  if (call.flag('json')) {
    printJson({ version: 1, approval: { ...approvalJson(approval), steps } }, stdout);
    return ExitCode.ok;
  }
  const paint = painter(stdout, environment);
  const { asked, answer, status: standing } = approval;
  const answered =
    answer === undefined
      ? []
      : [`  ${answer.granted ? 'granted' : 'denied'} by ${visible(answer.by)} ${visible(answer.why)}`.trimEnd()];
  const status = `  ${standing}, asked ${timeText(asked.askedAt)}, until ${timeText(asked.expiresAt)}`;
  stdout.write(
    `${[...askedLines(asked, paint, steps, steps.length), status, ...answered, `  ${paint('dim', asked.digest)}`].join('\n')}\n`,
  );
  return ExitCode.ok;
};

function answering(granted: boolean): Run {
  return async (call, hostOf, _hookHost, { stdout, environment }) => {
    const approvals = new Approvals(await hostOf());
    const [id = ''] = call.words;
    const why = call.value('why');
    const options = {
      scope: call.value('for') as ApprovalScope | undefined,
      network: call.values('net').map(withDefaultPort),
      why,
    };
    const answer = granted ? approvals.grant(id, options) : approvals.deny(id, { why });
    const said = `${answer.granted ? 'granted' : 'denied'} ${id}${answer.granted ? ` (${answer.scope})` : ''}`;
    if (call.flag('json')) printJson({ version: 1, id, answer }, stdout);
    else stdout.write(`${painter(stdout, environment)(answer.granted ? 'green' : 'red', said)}\n`);
    // Somebody else was quicker, and said otherwise.
    return answer.granted === granted ? ExitCode.ok : ExitCode.failed;
  };
}

export const grant = answering(true);
export const deny = answering(false);
