/** A record as people read it: one line, or all it says. Pure; texts come from agents, so they are shown escaped. */
import { visible, visibleCommand } from '../../base/visible-text.js';
import type { FoundRecord } from '../../sdk/operator/record.js';
import type { Paint } from './output.js';

const colours = { begin: 'dim', ok: 'green', failed: 'yellow', denied: 'red' } as const;
const shownCharacters = 60;

function shortened(text: string): string {
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters - 3)}...` : text;
}

/** What of it a person wants to see in a line. */
function gist({ body }: FoundRecord): string {
  const { facts = {}, object } = body;
  const { argv, call, host, port, tool, reason, chain, seq } = facts;
  if (Array.isArray(argv)) return visibleCommand(argv.map(String));
  if (typeof call === 'string') return `system call ${call}`;
  if (typeof host === 'string') return `connect ${host}:${port}`;
  if (typeof tool === 'string') return `${tool}: ${reason}`;
  if (typeof chain === 'string') return seq === undefined ? chain : `${chain}:${seq}`;
  return object;
}

export function recordLine(record: FoundRecord, paint: Paint): string {
  const { chain, body } = record;
  const status = `${body.status}${body.count === undefined ? '' : ` x${body.count}`}`;
  const what = `${body.type} ${shortened(visible(gist(record)))}`;
  const time = body.ts.replace('T', ' ').slice(0, 19);
  return `${paint('dim', time)}  ${paint(colours[body.status], status.padEnd(6))}  ${paint('dim', `${chain}:${body.seq}`)}  ${what}`;
}

/** Members of facts one a line, lists indented below their name. */
export function recordDetails({ chain, head, body }: FoundRecord, previous: string, paint: Paint): string {
  const { facts = {}, ...rest } = body;
  const rows: (readonly [string, string])[] = [
    ['record', `${chain}:${body.seq}`],
    ['time', body.ts],
    ['type', rest.type],
    [
      'status',
      `${rest.status}${rest.layer === undefined ? '' : ` by ${rest.layer}`}${rest.count === undefined ? '' : `, ${rest.count} times`}`,
    ],
    ['agent', rest.agent ?? '-'],
    ['session', rest.session ?? '-'],
    ['object', rest.object],
    ...Object.entries(facts).map(([name, value]): readonly [string, string] => {
      if (name === 'argv' && Array.isArray(value)) return [name, visibleCommand(value.map(String))];
      return [name, typeof value === 'string' ? value : JSON.stringify(value)];
    }),
    ['previous', previous],
    ['head', head],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${paint('dim', visible(name).padEnd(width))}  ${visible(value)}\n`).join('');
}
