/**
 * The entry point of `ctx hook claude-code` and `ctx hook json`, which harnesses start for every tool call: a bundle of
 * its own, since reading the whole CLI would cost half as much as a start of Node. Every other call is `main.ts`'s.
 */
import { run } from './main-hook-call.js';

void run(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
