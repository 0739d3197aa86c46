/** Writes docs/envelope.schema.json from src/proxy/report/envelope-schema.ts, as built. */
import { writeFileSync } from 'node:fs';
import { envelopeSchema } from '../dist/js/src/proxy/report/envelope-schema.js';

const path = new URL('../docs/envelope.schema.json', import.meta.url);
writeFileSync(path, `${JSON.stringify(envelopeSchema(), null, 2)}\n`);
