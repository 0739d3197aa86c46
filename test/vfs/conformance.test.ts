/** Every engine that needs no server: test/vfs/conforms. */
import { describe } from 'node:test';
import { conforms } from './conforms.js';
import { engines } from './engines.js';

for (const [name, make] of Object.entries(engines)) describe(`the ${name} engine`, () => conforms(make));
