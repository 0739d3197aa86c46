/** Where things are in the checkout. Everything the set-up makes goes below `dist/`, except `node_modules/`. */

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const dist = join(root, 'dist');

export function inCheckout(...parts) {
  return join(root, ...parts);
}
