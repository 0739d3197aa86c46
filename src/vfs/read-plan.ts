/** From a text to a plan. A table's file is read; nothing is opened yet, so that it can be decided upon first. */
import { parseSpecification } from './specification.js';
import { readTable } from './table-file.js';
import type { TreePlan } from './tree-plan.js';

/** EINVAL for what is not written as a tree is; what reading a table's file gives. */
export function planOf(text: string, directory: string): TreePlan {
  const specification = parseSpecification(text, directory);
  if (specification.engine !== 'table') {
    return { mounts: [{ path: [], source: specification, writable: undefined }], isTable: false };
  }
  return { mounts: readTable(specification.file), isTable: true };
}
