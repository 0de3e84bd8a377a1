/** Schemas of the fields of rows. */
import { Type, type TSchema } from 'typebox';
import type { DumpRow } from '../dump.ts';

/** A schema for each field of a record, so that none is believed unseen. */
export type Fields<T> = Record<keyof T, TSchema>;

/** The last second that a date can have in four digits of a year. */
export const secondsMax = 253_402_300_799;

export const Name = () => Type.String({ minLength: 1 });
export const Whole = () => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const Count = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const Seconds = () => Type.Integer({ minimum: 0, maximum: secondsMax });
export const Millis = () => Type.Integer({ minimum: 0, maximum: secondsMax * 1000 });
export const Nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
export const OneOf = (...values: string[]) => Type.Enum(values);
export const Base64 = () =>
  Type.String({ pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' });
export const Text = () => Type.String();
export const MapOf = (value: TSchema) => Type.Record(Type.String(), value);

export const row = (type: DumpRow['type'], properties: Record<string, TSchema>) =>
  Type.Object({ type: Type.Literal(type), ...properties });
export const record = (
  type: DumpRow['type'],
  properties: Record<string, TSchema>,
  more: Record<string, TSchema> = {},
) => row(type, { version: Count(), record: Type.Object(properties), ...more });
/** The ids that every record of a workspace has. */
export const held = { id: Name(), workspaceId: Name() };
export const stamps = { createdAt: Seconds(), updatedAt: Seconds() };
