/**
 * The result of an MCP tool as what a program prints. A tool with an output schema prints its structured result, one JSON value; one
 * whose result is texts prints them; anything else is its content blocks, one JSON object a line. An error is said on stderr. Pure.
 */
import { ErrnoError } from '../../base/errno.js';
import { harmlessLine } from '../../base/visible-text.js';
import { checkablePart, isRecord, type Schema, valueFault } from '../../objects/schema-check.js';

export interface Printed {
  readonly failed: boolean;
  readonly text: string;
}

function fault(name: string, reason: string): never {
  throw new ErrnoError('EIO', { operation: name, reason: `its server broke the protocol: ${reason}` });
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** The text of a block that is one, or undefined. */
function textIn(block: Schema): string | undefined {
  const { type, text, resource } = block as {
    readonly type?: unknown;
    readonly text?: unknown;
    readonly resource?: unknown;
  };
  if (type === 'text') return typeof text === 'string' ? text : undefined;
  const inner = type === 'resource' && isRecord(resource) ? resource['text'] : undefined;
  return typeof inner === 'string' ? inner : undefined;
}

function contentText(blocks: readonly Schema[]): string {
  const texts = blocks.map(textIn);
  if (texts.every((text) => text !== undefined)) return texts.map((text) => ended(text ?? '')).join('');
  return blocks.map((block) => `${JSON.stringify(block)}\n`).join('');
}

export function printedResult(name: string, result: unknown, output: Schema | undefined): Printed {
  if (!isRecord(result)) return fault(name, 'the result is not an object');
  const { content = [], structuredContent, isError } = result;
  if (!Array.isArray(content) || !content.every(isRecord)) return fault(name, 'the content is not a list of blocks');
  if (isError === true) {
    const said = contentText(content).split('\n').map(harmlessLine).join('\n');
    return { failed: true, text: said.trim() === '' ? 'the tool failed and did not say why\n' : said };
  }
  if (output !== undefined) {
    if (!isRecord(structuredContent)) return fault(name, 'it has an output schema, and sent no structuredContent');
    const wrong = valueFault(structuredContent, checkablePart(output));
    if (wrong !== undefined) {
      const reason = `the tool broke its schema: ${wrong.replace('the input', 'its output')}`;
      throw new ErrnoError('EIO', { operation: name, reason });
    }
  }
  if (structuredContent !== undefined && (output !== undefined || content.length === 0)) {
    return { failed: false, text: `${JSON.stringify(structuredContent)}\n` };
  }
  return { failed: false, text: contentText(content) };
}
