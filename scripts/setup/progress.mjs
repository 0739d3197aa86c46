/** Progress lines: on stderr, so that `npm start -- ... --json` stays parseable; coloured on a terminal only. */

const colour = process.stderr.isTTY && !process.env.NO_COLOR;
const paint = (code, text) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

export function say(text) {
  process.stderr.write(`${paint('2', 'set-up:')} ${text}\n`);
}

/** Runs `work`, with one line that says what is done, why, and how long it took. */
export async function withProgress(title, reason, work) {
  const started = performance.now();
  process.stderr.write(`${paint('2', 'set-up:')} ${title} ${paint('2', `(${reason})`)} ... `);
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${paint('31', 'failed')}\n`);
    throw error;
  }
  process.stderr.write(`${paint('32', `${((performance.now() - started) / 1000).toFixed(1)} s`)}\n`);
}
