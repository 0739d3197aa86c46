/** Runs a program silently; what it printed is shown only when it fails. */

import { spawn } from 'node:child_process';
import { root } from './checkout.mjs';
import { SetupFailure, unavailable } from './failure.mjs';

export function runQuietly(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('error', (error) => {
      reject(new SetupFailure(`${command} cannot be run: ${error.message}`, unavailable));
    });
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output);
      const ending = signal ? `was ended by ${signal}` : `ended with ${code}`;
      reject(new SetupFailure(`${output.trimEnd()}\n\n${[command, ...args].join(' ')}\n${ending}.`.trimStart()));
    });
  });
}

/** For compilers: without what makes Node start slowly or differently from one machine to the next. */
export function plainEnvironment() {
  const { NODE_EXTRA_CA_CERTS: _certificates, NODE_OPTIONS: _options, ...environment } = process.env;
  return environment;
}
