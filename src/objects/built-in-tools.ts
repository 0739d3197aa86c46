/**
 * The tools that every installation has, as data: what each is for and what it takes. They are in the system tier without being on the
 * disk; control files that are there of the same name (`tool/NAME.d`, such as a policy) count, and an executable file takes the name
 * over. What they do is `src/tool`'s.
 */

export interface BuiltInTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of what it takes. */
  readonly input: Readonly<Record<string, unknown>>;
}

const path = { type: 'string', minLength: 1, description: 'relative to where the call is made, or in full' };

function object(properties: Readonly<Record<string, unknown>>, required: readonly string[]) {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const builtInTools: readonly BuiltInTool[] = Object.freeze([
  {
    name: 'fs.read',
    description: 'Prints a file of the workspace, or a range of its lines.',
    input: object(
      {
        path,
        offset: { type: 'integer', minimum: 1, description: 'the first line, from 1' },
        limit: { type: 'integer', minimum: 1, description: 'how many lines' },
      },
      ['path'],
    ),
  },
  {
    name: 'fs.list',
    description: 'Lists a directory of the workspace: one JSON object a line, with name, type and size.',
    input: object({ path }, []),
  },
  {
    name: 'fs.stat',
    description: 'Type, size, mode and time of a path of the workspace, as JSON. Of a link: the link itself.',
    input: object({ path }, ['path']),
  },
  {
    name: 'fs.write',
    description: 'Makes or overwrites a file of the workspace.',
    input: object(
      {
        path,
        content: { type: 'string' },
        create: { type: 'boolean', description: 'only where nothing is there' },
        parents: { type: 'boolean', description: 'make the directories above it' },
      },
      ['path', 'content'],
    ),
  },
  {
    name: 'fs.replace',
    description: 'Replaces a text in a file of the workspace; it has to be there exactly once, unless all is true.',
    input: object(
      {
        path,
        old: { type: 'string', minLength: 1, description: 'what is there now, exactly' },
        new: { type: 'string', description: 'what is there then' },
        all: { type: 'boolean', description: 'wherever it is' },
      },
      ['path', 'old', 'new'],
    ),
  },
  {
    name: 'fs.search',
    description: 'Lines of the workspace’s text files that match, as PATH:LINE:TEXT.',
    input: object(
      {
        pattern: { type: 'string', minLength: 1, description: 'an extended regular expression, as grep has them' },
        path,
        literal: { type: 'boolean', description: 'the pattern is a text' },
        limit: { type: 'integer', minimum: 1, maximum: 10_000, description: 'matches; 500 without it' },
      },
      ['pattern'],
    ),
  },
  {
    name: 'shell.exec',
    description: 'Runs a shell command on the same fork, with the same grants, in a jail of its own.',
    input: object(
      {
        cmd: { type: 'string', minLength: 1 },
        timeout: { type: 'number', exclusiveMinimum: 0, description: 'seconds' },
      },
      ['cmd'],
    ),
  },
  {
    name: 'fork.diff',
    description: 'What the fork changes in the workspace, as a unified diff.',
    input: object({ path }, []),
  },
]);
