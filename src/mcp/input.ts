/** What a model gives a tool: checked against the tool's schema before anything is done with it. Pure. */
import { ErrnoError } from '../base/errno.js';

export type InputField =
  | { readonly type: 'string'; readonly description: string }
  | { readonly type: 'boolean'; readonly description: string }
  | { readonly type: 'integer'; readonly description: string; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'array'; readonly items: { readonly type: 'string' }; readonly description: string };

export interface InputSchema {
  readonly fields: Readonly<Record<string, InputField>>;
  readonly required?: readonly string[];
}

export const text = (description: string): InputField => ({ type: 'string', description });
export const flag = (description: string): InputField => ({ type: 'boolean', description });
export const words = (description: string): InputField => ({ type: 'array', items: { type: 'string' }, description });
export const count = (description: string, maximum: number): InputField => ({
  type: 'integer',
  description,
  minimum: 1,
  maximum,
});

export function jsonSchemaOf({ fields, required = [] }: InputSchema) {
  return { type: 'object' as const, properties: { ...fields }, required: [...required], additionalProperties: false };
}

function expected(field: InputField): string {
  if (field.type === 'array') return 'an array of strings';
  if (field.type === 'integer') return `a whole number from ${field.minimum} to ${field.maximum}`;
  return field.type === 'string' ? 'a string' : 'true or false';
}

function fits(field: InputField, value: unknown): boolean {
  switch (field.type) {
    case 'array':
      return Array.isArray(value) && value.every((each) => typeof each === 'string');
    case 'integer':
      return Number.isInteger(value) && Number(value) >= field.minimum && Number(value) <= field.maximum;
    default:
      return typeof value === field.type;
  }
}

export class ToolInput {
  readonly #values: Readonly<Record<string, unknown>>;

  /** EINVAL with what is wrong first: a field that is missing, unknown, or not of its kind. */
  constructor(tool: string, { fields, required = [] }: InputSchema, given: Readonly<Record<string, unknown>>) {
    const known = Object.keys(fields).join(', ');
    const refuse = (reason: string) =>
      new ErrnoError('EINVAL', {
        operation: tool,
        reason,
        remedy: known === '' ? 'leave out all arguments' : `valid arguments: ${known}`,
      });
    for (const name of required)
      if (given[name] === undefined) throw refuse(`missing argument ${JSON.stringify(name)}`);
    for (const [name, value] of Object.entries(given)) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field === undefined) throw refuse(`unknown argument ${JSON.stringify(name)}`);
      if (value !== undefined && !fits(field, value)) throw refuse(`expected ${name} to be ${expected(field)}`);
    }
    this.#values = given;
  }

  optionalText(name: string): string | undefined {
    return this.#values[name] as string | undefined;
  }

  /** Of a required field. */
  text(name: string): string {
    return this.#values[name] as string;
  }

  words(name: string): readonly string[] | undefined {
    return this.#values[name] as readonly string[] | undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  count(name: string): number | undefined {
    return this.#values[name] as number | undefined;
  }
}
