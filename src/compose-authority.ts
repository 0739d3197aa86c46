/** The Authority of a harness's task. Apart from the hook's own bundle: few calls need it. */
import { composeHost } from './compose.js';
import type { Task, TaskAuthority } from './hook/hook-host.js';
import { taskAuthority } from './hook/task-authority.js';

export function authorityOf({ environment, ...task }: Task): Promise<TaskAuthority> {
  return taskAuthority(composeHost(environment), task);
}
