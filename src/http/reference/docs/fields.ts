/** A JSON Schema as rows of fields, each with its path, its type in words and its description. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly contentSchema?: Schema;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

export type Schemas = Readonly<Record<string, Schema>>;

export interface Field {
  /** The path, as in `model.name` and `data[].id`. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  /** Markdown, perhaps empty. */
  readonly note: string;
}

/** The schema that a reference leads to. */
export const resolved = (schema: Schema, schemas: Schemas): Schema =>
  schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!]!;

/** Returns the one schema of a union with null; other unions have no such schema. */
function without(schema: Schema, schemas: Schemas): { readonly inner: Schema; readonly nullable: boolean } {
  const found = resolved(schema, schemas);
  const others = found.anyOf?.filter(({ type }) => type !== 'null');
  if (others?.length !== 1) return { inner: found, nullable: false };
  return {
    inner: {
      ...resolved(others[0]!, schemas),
      ...(found.description === undefined ? {} : { description: found.description }),
    },
    nullable: true,
  };
}

export function fieldsOf(schema: Schema, schemas: Schemas, prefix = ''): Field[] {
  const { inner } = without(schema, schemas);
  if (inner.items !== undefined) return fieldsOf(inner.items, schemas, `${prefix}[]`);
  return Object.entries(inner.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const row = {
      path,
      type: typeOf(field, schemas),
      required: inner.required?.includes(name) ?? false,
      note: noteOf(field, schemas),
    };
    return [row, ...fieldsOf(field, schemas, path)];
  });
}

/** The data of each event of a stream, under the event's name. */
export function eventFieldsOf(events: Schemas, schemas: Schemas): Field[] {
  return Object.entries(events).flatMap(([name, schema]) => fieldsOf(schema, schemas, name));
}

/** `string`, `integer or null`, `list of objects`. */
export function typeOf(schema: Schema, schemas: Schemas): string {
  const { inner, nullable } = without(schema, schemas);
  const named =
    inner.anyOf === undefined
      ? nameOf(inner, schemas)
      : [...new Set(inner.anyOf.map((one) => typeOf(one, schemas)))].join(' or ');
  return nullable ? `${named} or null` : named;
}

function nameOf(
  { type, const: constant, enum: values, items, additionalProperties }: Schema,
  schemas: Schemas,
): string {
  if (constant !== undefined) return JSON.stringify(constant);
  if (values !== undefined) return `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  if (items !== undefined) return `list of ${plural(typeOf(items, schemas))}`;
  if (type === 'object' && additionalProperties !== undefined)
    return `map of ${plural(typeOf(additionalProperties, schemas))}`;
  return type ?? 'anything';
}

const plural = (type: string): string => type.replace(/\b(?:string|number|integer|boolean|object|list)\b/g, '$&s');

function noteOf(schema: Schema, schemas: Schemas): string {
  const { inner } = without(schema, schemas);
  return [inner.description, ...boundsOf(inner)].filter(Boolean).join(' ');
}

export function boundsOf({
  minimum,
  maximum,
  minLength,
  maxLength,
  maxItems,
  maxProperties,
  default: preset,
}: Schema): string[] {
  return [
    range(minimum, maximum, ''),
    // A minimum length of 0 need not be said.
    range(minLength === 0 ? undefined : minLength, maxLength, ' characters'),
    maxItems === undefined ? '' : `At most ${maxItems} items.`,
    maxProperties === undefined ? '' : `At most ${maxProperties} entries.`,
    preset === undefined ? '' : `Default: \`${preset}\`.`,
  ].filter(Boolean);
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (most === undefined) return least === undefined ? '' : `At least ${least}${unit}.`;
  return least === undefined ? `At most ${most}${unit}.` : `${least} to ${most}${unit}.`;
}
