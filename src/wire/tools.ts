/** The console's shapes of tools (contract 13). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { entrySteps, toolErrors } from '../base/tool-errors.ts';
import { Id, listOf, mapOf, Name, named, Nullable, recordsQuery, Strings, Text, UnixSeconds, whole } from './basics.ts';

const approvals = ['never', 'always'] as const;
const shows = ['none', 'name', 'full'] as const;
const approval = () => Strings(approvals, 'Whether a person approves each call.');
const show = () => Strings(shows, "How much of a call the API's callers see.");

const parameters = () => mapOf(Type.Unknown());

const FunctionBody = Type.Object({
  name: Type.String({ description: 'Letters, digits, `_` and `-`, 64 at most.' }),
  description: Type.Optional(Nullable(Text(limits.descriptionCharactersMax, 0))),
  parameters: Type.Optional(
    Type.Unknown({ description: 'A JSON Schema 2020-12 of an object, 16 KiB at most, that refers to itself alone.' }),
  ),
  enabled: Type.Optional(Type.Boolean({ default: true })),
  approval: Type.Optional(Nullable(approval())),
  show: Type.Optional(Nullable(show())),
});

const disabled = 'While true, no model is offered its functions and no call is sent: a switch for an emergency.';

const fields = {
  name: Name(),
  url: Nullable(Text(2000)),
  credential_id: Nullable(Type.String()),
  timeout_seconds: Type.Integer({
    minimum: 1,
    maximum: limits.toolTimeoutSecondsMax,
    description: `${limits.toolTimeoutSeconds} unless it is given.`,
  }),
  repeatable: Type.Boolean({ description: 'Whether a call may be sent again although the tool may have it.' }),
  approval: approval(),
  show: show(),
  calls_per_minute: Nullable(Type.Integer({ minimum: 1, maximum: limits.ceilingMax, description: 'Null: no limit.' })),
  disabled: Type.Boolean({ description: disabled }),
  functions: whole(Type.Array(FunctionBody, { maxItems: limits.toolFunctionsMax * 4 })),
};

const Fields = Type.Partial(Type.Object(fields));
export const PatchToolBody = named('PatchTool', Fields);
export const CreateToolBody = named(
  'CreateTool',
  Type.Object({ ...Fields.properties, kind: Strings(['http', 'mcp', 'client']), name: fields.name }),
);
export type CreateToolBody = Static<typeof CreateToolBody>;
export type PatchToolBody = Static<typeof PatchToolBody>;

export const ToolsQuery = Type.Object(recordsQuery('tool'));

const view = {
  id: Id('tool'),
  object: Type.Literal('tool'),
  kind: Strings(['http', 'mcp', 'client']),
  name: Type.String(),
  url: Nullable(Type.String()),
  credential_id: Nullable(Type.String()),
  timeout_seconds: Type.Integer(),
  repeatable: Type.Boolean(),
  approval: approval(),
  show: show(),
  calls_per_minute: Nullable(Type.Integer()),
  disabled: Type.Boolean({ description: disabled }),
  functions: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Nullable(Type.String()),
      parameters: parameters(),
      enabled: Type.Boolean(),
      approval: Nullable(approval()),
      show: Nullable(show()),
      quarantined: Nullable(
        Type.Object(
          { at: UnixSeconds(), provider: Type.String() },
          { description: 'The provider that refuses the definition, and does not get it; null where none does.' },
        ),
      ),
    }),
  ),
  refreshed_at: Nullable(UnixSeconds()),
  refresh_error: Nullable(
    Type.Object(
      {
        at: UnixSeconds(),
        step: Strings(
          entrySteps,
          'How far it came: the connection, the probe of the protocol, the handshake, the list.',
        ),
        error: Strings(toolErrors),
      },
      {
        description:
          "Why an MCP server's list could not be read the last time; null where it could, and for other kinds.",
      },
    ),
  ),
  digest: Type.String({
    description: 'Another for every change of its settings and functions but `disabled`; the `ETag` has it in quotes.',
  }),
  created_at: UnixSeconds(),
  updated_at: UnixSeconds(),
};
const signingSecret = Type.String({
  pattern: '^whsec_',
  description: 'It signs the requests to the tool; shown here and never again.',
});

export const ToolView = named('Tool', Type.Object(view));
export type ToolView = Static<typeof ToolView>;
export const ToolList = listOf('ToolList', ToolView);
export const CreatedToolView = named(
  'CreatedTool',
  Type.Object({ ...view, signing_secret: Type.Optional(signingSecret) }),
);
export type CreatedToolView = Static<typeof CreatedToolView>;
export const RefreshedToolView = named(
  'RefreshedTool',
  Type.Object({
    ...view,
    changes: Type.Array(
      Type.Object({ name: Type.String(), change: Strings(['added', 'removed', 'changed', 'refused']) }),
    ),
  }),
);
export type RefreshedToolView = Static<typeof RefreshedToolView>;
export const RotatedSecretView = named('RotatedSecret', Type.Object({ signing_secret: signingSecret }));
export type RotatedSecretView = Static<typeof RotatedSecretView>;

export const TestToolBody = named(
  'TestTool',
  Type.Object({
    name: Type.String({ description: 'A function of the tool, on or off.' }),
    arguments: Type.Optional(mapOf(Type.Unknown())),
  }),
);
export type TestToolBody = Static<typeof TestToolBody>;
export const ToolTestView = named(
  'ToolTest',
  Type.Object({
    object: Type.Literal('tool_test'),
    call_id: Id('call'),
    status: Strings(['completed', 'failed']),
    error: Nullable(Strings(toolErrors)),
    reason: Nullable(
      Type.String({ description: 'Which argument is wrong, and why; null unless the error is `arguments`.' }),
    ),
    output: Nullable(Type.String()),
    milliseconds: Type.Integer(),
  }),
);
export type ToolTestView = Static<typeof ToolTestView>;

/** The steps of a turn, in order: its text, the calls of tools, their results. */
export const TurnStepView = named(
  'TurnStep',
  Type.Object({
    seq: Type.Integer(),
    at: UnixSeconds(),
    kind: Strings(['text', 'call', 'result']),
    call_id: Nullable(Type.String()),
    name: Nullable(Type.String()),
    status: Nullable(Type.String()),
    error: Nullable(Type.String()),
    milliseconds: Nullable(Type.Integer({ description: 'From the call to its result.' })),
  }),
);
export const TurnStepList = listOf('TurnStepList', TurnStepView);
