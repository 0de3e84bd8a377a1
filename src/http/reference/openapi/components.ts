/** The schemas of the validators as a document has them. */
import type { TSchema } from 'typebox';

/** Schemas with a title become components, each written once; the validators' own marks are left out. */
export class Components {
  readonly schemas: Record<string, unknown> = {};

  reference(schema: TSchema): unknown {
    const title = (schema as { title?: string }).title;
    if (title === undefined) return this.inline(schema);
    if (!(title in this.schemas)) {
      this.schemas[title] = null;
      const { title: _, ...rest } = schema as Record<string, unknown>;
      this.schemas[title] = this.inline(rest);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  inline(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.inner(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    return Object.fromEntries(
      Object.entries(schema)
        .filter(([name]) => !name.startsWith('~'))
        .map(([name, value]) => [name, this.inner(value)]),
    );
  }

  private inner(value: unknown): unknown {
    const titled =
      typeof value === 'object' && value !== null && typeof (value as { title?: unknown }).title === 'string';
    return titled ? this.reference(value) : this.inline(value);
  }
}
