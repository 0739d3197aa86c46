/**
 * Forks, checkpoints and rollbacks of growing trees against copying them, imports, and work inside a fork against work outside.
 *
 * `npm run bench -- vault 1000 10000` for other sizes; the words `copies`, `import` and `work` choose parts. In memory, unless
 * CTX_BENCH_FILESYSTEM=ext4 (an image with a journal; root) or CTX_BENCH_DIRECTORY says otherwise.
 */
import { importRows } from './vault/import-rows.js';
import { secondCopies } from './vault/second-copies.js';
import { workInside } from './vault/work-inside.js';

const words = process.argv.slice(2);
const given = words.filter((word) => /^\d+$/.test(word)).map(Number);
const sizes = given.length > 0 ? given : [1_000, 10_000, 100_000];
const parts = ['copies', 'import', 'work'].filter((part) => words.includes(part));
const isWanted = (part: string) => parts.length === 0 || parts.includes(part);
const largest = Math.max(...sizes);

if (isWanted('copies')) for (const size of sizes) await secondCopies(size, { withThousand: size === sizes[0] });
if (isWanted('import')) await importRows(largest);
if (isWanted('work')) await workInside(Math.min(20_000, largest));
