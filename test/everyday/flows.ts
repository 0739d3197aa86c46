/** All flows. A new one goes into the file of its kind; a program that may be missing goes into its `needs`. */
import type { Flow } from './flow.js';
import { buildFlows } from './flows/build.js';
import { debuggingFlows } from './flows/debugging.js';
import { editorFlows } from './flows/editors.js';
import { fileFlows } from './flows/files.js';
import { gitFlows } from './flows/git.js';
import { javascriptFlows } from './flows/javascript.js';
import { machineFlows } from './flows/machine.js';
import { pythonFlows } from './flows/python.js';
import { serverFlows } from './flows/servers.js';

export const flows: readonly Flow[] = [
  ...fileFlows,
  ...gitFlows,
  ...buildFlows,
  ...javascriptFlows,
  ...pythonFlows,
  ...debuggingFlows,
  ...serverFlows,
  ...editorFlows,
  ...machineFlows,
];
