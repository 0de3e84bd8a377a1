/** The schemas of the desk's records (contract 23), as rows in text have them. */
import { Type, type TSchema } from 'typebox';
import type { AttendanceChange, DeskSettings } from '../records.ts';

type Fields<T> = Record<keyof T, TSchema>;

const NullableText = () => Type.Union([Type.String(), Type.Null()]);

/** The settings of an assistant's desk. */
export const DeskRow = () =>
  Type.Object({
    enabled: Type.Boolean(),
    waitSeconds: Type.Integer({ minimum: 0 }),
    whileWaiting: Type.Enum(['assistant', 'silent']),
    texts: Type.Object({
      waiting: NullableText(),
      joined: NullableText(),
      left: NullableText(),
      nobody: NullableText(),
    } satisfies Fields<DeskSettings['texts']>),
  } satisfies Fields<DeskSettings>);

/** The fields that a message of the desk has besides. */
export const deskMessage = {
  by: Type.Optional(Type.Object({ id: Type.String({ minLength: 1 }), name: Type.String() })),
  attendance: Type.Optional(
    Type.Object({
      state: Type.Enum(['assistant', 'waiting', 'person']),
      since: Type.Integer({ minimum: 0 }),
      name: NullableText(),
      left: Type.Optional(Type.String()),
    } satisfies Fields<AttendanceChange>),
  ),
  sequence: Type.Optional(Type.Integer({ minimum: 1 })),
  duringTurnId: Type.Optional(Type.String({ minLength: 1 })),
};
