/** `ctx approvals`: commands that wait for a person, and the answers. Nothing in a jail can get here: it has no store. */
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible, visibleCommand } from '../base/visible-text.js';
import { answerApproval, approvalsOf } from '../proxy/answer-approval.js';
import { type Approval, type Scope, type Status, statusOf } from '../proxy/approval.js';
import type { Host } from '../proxy/host.js';
import { askedLines } from './ask-approval.js';
import { withDefaultPort } from './asked-grants.js';
import { type Paint, painter, printJson } from './output.js';
import type { Run } from './verb.js';

function approvalJson(approval: Approval, now: number): object {
  return { ...approval.asked, status: statusOf(approval, now), answer: approval.answer ?? null };
}

const colours: Readonly<Record<Status, Parameters<Paint>[0]>> = {
  waiting: 'yellow',
  granted: 'green',
  used: 'dim',
  denied: 'red',
  expired: 'dim',
};

function line({ asked, answer, used }: Approval, now: number, paint: Paint): string {
  const status = statusOf({ asked, answer, used }, now);
  const who = asked.agent ?? '-';
  return `${asked.id}  ${paint(colours[status], status.padEnd(7))}  ${visible(who).padEnd(10)}  ${visibleCommand(asked.argv)}`;
}

export const list: Run = async (call, hostOf) => {
  const host = await hostOf();
  const now = host.now().getTime();
  const all = approvalsOf(host).all();
  const shown = call.flag('all') ? all : all.filter((each) => statusOf(each, now) === 'waiting');
  if (call.flag('json')) printJson({ version: 1, approvals: shown.map((each) => approvalJson(each, now)) });
  else for (const each of shown) process.stdout.write(`${line(each, now, painter(process.stdout))}\n`);
  return ExitCode.ok;
};

export const show: Run = async (call, hostOf) => {
  const host = await hostOf();
  const now = host.now().getTime();
  const approval = approvalsOf(host).one(call.words[0] ?? '');
  if (call.flag('json')) {
    printJson({ version: 1, approval: approvalJson(approval, now) });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  const { asked, answer } = approval;
  const answered =
    answer === undefined
      ? []
      : [`  ${answer.granted ? 'granted' : 'denied'} by ${visible(answer.by)} ${visible(answer.why)}`.trimEnd()];
  const status = `  ${statusOf(approval, now)}, asked ${new Date(asked.askedAt).toISOString()}, until ${new Date(asked.expiresAt).toISOString()}`;
  process.stdout.write(
    `${[...askedLines(asked, paint), status, ...answered, `  ${paint('dim', asked.digest)}`].join('\n')}\n`,
  );
  return ExitCode.ok;
};

function waiting(host: Host, id: string): Approval {
  const approval = approvalsOf(host).one(id);
  const status = statusOf(approval, host.now().getTime());
  if (status === 'waiting') return approval;
  throw new ErrnoError('ESTALE', {
    operation: 'approvals',
    reason: `expected a request that waits; ${id} is ${status}`,
    remedy: 'run the command again, and it is asked again',
  });
}

function answering(granted: boolean): Run {
  return async (call, hostOf) => {
    const host = await hostOf();
    const { asked } = waiting(host, call.words[0] ?? '');
    const scope = (call.value('for') ?? 'once') as Scope;
    const by = `uid ${host.uid}`;
    const network = granted ? call.values('net').map(withDefaultPort) : [];
    const answer = answerApproval(host, asked, {
      network,
      granted,
      scope: granted ? scope : 'once',
      by,
      why: call.value('why') ?? '',
    });
    const said = `${answer.granted ? 'granted' : 'denied'} ${asked.id}${answer.granted ? ` (${answer.scope})` : ''}`;
    if (call.flag('json')) printJson({ version: 1, id: asked.id, answer });
    else process.stdout.write(`${painter(process.stdout)(answer.granted ? 'green' : 'red', said)}\n`);
    // Somebody else was quicker, and said otherwise.
    return answer.granted === granted ? ExitCode.ok : ExitCode.failed;
  };
}

export const grant = answering(true);
export const deny = answering(false);
