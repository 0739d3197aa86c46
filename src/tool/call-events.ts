/** Events of one view's calls, by tool, in the least that an event says: what a tool's log shows that has no file of its own. */
import { eventText } from '../audit/projection.js';
import type { RecordStatus } from '../audit/record.js';
import { callEvents } from '../base/limits/objects.js';

export class CallEvents {
  readonly #agent: string | undefined;
  readonly #lines = new Map<string, string[]>();

  constructor(agent: string | undefined) {
    this.#agent = agent;
  }

  note(tool: string, status: RecordStatus, now: Date): void {
    const lines = this.#lines.get(tool) ?? [];
    const entry = { type: 'tool.call', agent: this.#agent, object: `tool/${tool}`, status };
    lines.push(eventText(entry, now.toISOString()));
    if (lines.length > callEvents) lines.shift();
    this.#lines.set(tool, lines);
  }

  of(tool: string): string {
    return (this.#lines.get(tool) ?? []).join('');
  }
}
