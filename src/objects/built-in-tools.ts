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

const path = {
  type: 'string',
  minLength: 1,
  description: 'a path, relative to the directory of the call, or absolute',
};

const agentName = { type: 'string', minLength: 1, maxLength: 64 };

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
        create: { type: 'boolean', description: 'fail if the path exists already' },
        parents: { type: 'boolean', description: 'make the directories above it' },
      },
      ['path', 'content'],
    ),
  },
  {
    name: 'fs.replace',
    description: 'Replaces a text in a file of the workspace; the text must occur exactly once, unless all is true.',
    input: object(
      {
        path,
        old: { type: 'string', minLength: 1, description: 'the text to replace, exactly' },
        new: { type: 'string', description: 'the new text' },
        all: { type: 'boolean', description: 'replace every occurrence' },
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
        literal: { type: 'boolean', description: 'take the pattern as plain text, not as an expression' },
        limit: { type: 'integer', minimum: 1, maximum: 10_000, description: 'the most matches to print (default 500)' },
      },
      ['pattern'],
    ),
  },
  {
    name: 'shell.exec',
    description: 'Runs a shell command where it is called: in the same jail, on the same fork, with the same grants.',
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
  {
    name: 'fork.checkpoint',
    description: 'Saves a checkpoint of the fork when the running command has ended.',
    input: object({ name: { type: 'string', minLength: 1, maxLength: 64 } }, []),
  },
  {
    name: 'fork.rollback',
    description: 'Takes the fork back when the running command has ended: to a checkpoint, or to before that command.',
    input: object({ checkpoint: { type: 'string', minLength: 1, description: 'its number or name' } }, []),
  },
  {
    name: 'agent.create',
    description: 'Makes an agent that is a child of the caller, with at most what the caller has.',
    input: {
      type: 'object',
      properties: {
        name: agentName,
        label: { type: 'string', minLength: 1, description: 'its type, such as reviewer_t, or a whole label' },
        tools: { type: 'array', items: { type: 'string' }, description: 'tools that it may execute' },
        model: { type: 'array', items: { type: 'string' }, description: 'models that it may use' },
        shared: { type: 'object', description: 'names of spaces, each with a list of read, write' },
        mount: {
          type: 'array',
          items: { type: 'array', items: { type: 'string' } },
          description: 'rows of source, target, ro or rw, options; a source is a path that the caller sees',
        },
        policy: { type: 'string', description: 'further rules, one a line' },
      },
      required: ['name'],
    },
  },
  {
    name: 'agent.start',
    description: 'Starts an agent.',
    input: object({ name: agentName }, ['name']),
  },
  {
    name: 'agent.stop',
    description: 'Stops an agent.',
    input: object({ name: agentName }, ['name']),
  },
]);
