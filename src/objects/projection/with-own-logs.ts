/**
 * A catalogue as one agent sees it: of a tool's log the events of its own calls. Those of others would say which agents there are and what
 * they do. Of a tool without files of its own they are what this view has seen.
 */
import { having, parsedAs, word } from '../../base/shape.js';
import { type Catalogue, type ControlText, kindOf } from './catalogue.js';

/** Events of this view's calls of a tool, one a line. */
export type CallLog = (tool: string) => string;

interface Event {
  readonly agent: string;
}

const eventShape = having({ agent: word });

function ownLines(text: string, agent: string): string {
  const lines = text.split('\n').filter((line) => parsedAs<Event>(line, eventShape)?.agent === agent);
  return lines.map((line) => `${line}\n`).join('');
}

function textOf(text: string, modified: bigint): ControlText {
  const bytes = Buffer.from(text);
  return { size: bytes.length, modified, read: () => bytes };
}

export function withOwnLogs(inner: Catalogue, agent: string, seen: CallLog): Catalogue {
  return {
    ...inner,
    control: (place, name, file) => {
      const text = inner.control(place, name, file);
      if (text === undefined || file !== 'log' || kindOf(place) === 'agent') return text;
      const own = ownLines(text.read().toString('utf8'), agent);
      return textOf(own === '' && kindOf(place) === 'tool' ? seen(name) : own, text.modified);
    },
  };
}
