/**
 * `fork.checkpoint` and `fork.rollback`. The fork is mounted while its command runs, so both take effect when that has ended: what is
 * asked for is remembered, in its order, and the report says what became of it.
 */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { type ToolRun, type ToolRunCall, textOf } from '../tool-run.js';

function laterOf({ later, name }: ToolRunCall): NonNullable<ToolRunCall['later']> {
  if (later !== undefined) return later;
  const reason = 'this command works on the directory itself, and there is no fork';
  throw new ErrnoError('ENOTSUP', { operation: name, reason, remedy: 'ctx exec runs it on a fork' });
}

const checkpoint: ToolRun = async (call) => {
  const name = textOf(call, 'name');
  laterOf(call)({ kind: 'checkpoint', name: name === '' ? undefined : name });
  call.print('a checkpoint is saved when the command has ended\n');
  return ExitCode.ok;
};

const rollback: ToolRun = async (call) => {
  const wanted = textOf(call, 'checkpoint');
  laterOf(call)({ kind: 'rollback', checkpoint: wanted === '' ? undefined : wanted });
  call.print('the fork is rolled back when the command has ended\n');
  return ExitCode.ok;
};

export const forkTools: Readonly<Record<string, ToolRun>> = {
  'fork.checkpoint': checkpoint,
  'fork.rollback': rollback,
};
