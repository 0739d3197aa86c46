/** First use of directories of 20,000 and 100,000 files against `cp -a`, and looking at them again against `find`. */
import { importRows } from './vault/import-rows.js';

/** `npm run bench -- import 1000` for another size. */
const given = process.argv.slice(2).filter((word) => /^\d+$/.test(word));
for (const size of given.length > 0 ? given.map(Number) : [20_000, 100_000]) await importRows(size);
