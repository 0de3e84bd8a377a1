/** The schema of a test of an assistant in an export. */
import { Type } from 'typebox';
import type { AssistantTest, ScriptedResult, TestExpectation } from '../records/tests.ts';
import { Count, held, MapOf, Name, Nullable, OneOf, record, stamps, Text, Whole, type Fields } from './fields.ts';

const expectation = {
  contains: Type.Optional(Type.Array(Text())),
  notContains: Type.Optional(Type.Array(Text())),
  calls: Type.Optional(Type.Array(Type.Object({ name: Name(), arguments: Type.Optional(MapOf(Type.Unknown())) }))),
  noCalls: Type.Optional(Type.Literal(true)),
  stopReason: Type.Optional(Text()),
  charactersMax: Type.Optional(Whole()),
  judge: Type.Optional(Text()),
} satisfies Fields<TestExpectation>;

export const assistantTest = record('assistant_test', {
  ...held,
  assistantId: Name(),
  name: Text(),
  visitor: MapOf(Type.Union([Text(), Type.Number(), Type.Boolean()])),
  metadata: MapOf(Text()),
  steps: Type.Array(Type.Object({ message: Text(), expect: Type.Object(expectation) })),
  toolResults: MapOf(
    Type.Array(Type.Object({ status: OneOf('completed', 'failed'), output: Text() } satisfies Fields<ScriptedResult>)),
  ),
  repeat: Count(),
  fromSessionId: Nullable(Name()),
  fromVisitorId: Nullable(Name()),
  ...stamps,
} satisfies Fields<AssistantTest>);
