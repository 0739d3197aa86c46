/** All tools of a server, page by page: bounded, whatever it answers. */
import { monotonic } from '../../base/clock.js';
import { ErrnoError } from '../../base/errno.js';
import { sourcePages, sourceStartMilliseconds, sourceTools } from '../../base/limits/objects.js';
import { visible } from '../../base/visible-text.js';
import { isRecord } from '../../objects/schema-check.js';
import { type ToolList, toolList } from '../../objects/source/tool-list.js';
import { type ServerConversation, ServerRefusal } from './conversation.js';

function fault(reason: string): never {
  throw new ErrnoError('EIO', { operation: 'list the tools', reason });
}

async function pageOf(conversation: ServerConversation, cursor: string | undefined, milliseconds: number) {
  try {
    const page = await conversation.request('tools/list', cursor === undefined ? {} : { cursor }, { milliseconds });
    const { tools, nextCursor } = (isRecord(page) ? page : {}) as {
      readonly tools?: unknown;
      readonly nextCursor?: unknown;
    };
    if (!Array.isArray(tools)) return fault('its server lists no tools');
    return { tools: tools as readonly unknown[], next: typeof nextCursor === 'string' ? nextCursor : undefined };
  } catch (error) {
    if (error instanceof ServerRefusal) return fault(`its server refused to list its tools: ${visible(error.message)}`);
    throw error;
  }
}

/** EIO where it never ends, ETIMEDOUT where it takes too long for all of them. */
export async function askTools(source: string, conversation: ServerConversation): Promise<ToolList> {
  const until = monotonic() + sourceStartMilliseconds;
  const seen = new Set<string>();
  const listed: unknown[] = [];
  let cursor: string | undefined;
  do {
    const { tools, next } = await pageOf(conversation, cursor, Math.max(1, until - monotonic()));
    listed.push(...tools);
    if (next !== undefined && seen.has(next)) fault('its server lists its tools in a circle');
    if (seen.size >= sourcePages) fault(`its server lists its tools in more than ${sourcePages} pages`);
    // What is beyond is left out anyway, but each of it would be in memory.
    if (listed.length > 2 * sourceTools) fault(`its server lists more than ${2 * sourceTools} tools`);
    if (next !== undefined) seen.add(next);
    cursor = next;
  } while (cursor !== undefined);
  return toolList(source, listed);
}
