/** Ranges of numbers in a body: the API names a field that is out of its range, and not the range. */
import type { TSchema } from 'typebox';
import type { Parts } from '../wire/check.ts';
import { PatchAssistantBody, partOf } from '../wire/wire.ts';

interface Bounded extends Parts {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Bounded[];
}

/** The range of a field as a sentence to append; empty for a field without one. */
export function rangeOf(schema: TSchema, field: string): string {
  const part: Bounded | undefined = field
    .split('.')
    .reduce<Parts | undefined>((within, name) => within && partOf(within, name), schema);
  const bounded = part?.anyOf?.find(({ minimum }) => minimum !== undefined) ?? part;
  if (bounded?.minimum === undefined || bounded.maximum === undefined) return '';
  const noun = bounded.type === 'integer' ? 'whole number' : 'number';
  return ` It must be a ${noun} from ${bounded.minimum} to ${bounded.maximum}.`;
}

/** The range of a field of an assistant. */
export const assistantRange = (field: string): string => rangeOf(PatchAssistantBody, field);
