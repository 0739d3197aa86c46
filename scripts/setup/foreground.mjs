/** Runs a program in our place: its terminal, its signals, its ending. */

import { spawn } from 'node:child_process';

export function runInForeground(command, args, options = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  const pass = (signal) => {
    // A terminal has sent its Ctrl-C to the child as well, and a second one would mean something else.
    const fromTerminal = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT');
    if (!fromTerminal) child.kill(signal);
  };
  for (const signal of signals) process.on(signal, pass);
  child.on('error', (error) => {
    process.stderr.write(`${command} cannot be run: ${error.message}\n`);
    process.exitCode = 69;
  });
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, pass);
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code;
  });
}
