/**
 * The console's shapes (contract 9). In a PATCH, null clears a field that may be empty; absent fields stay as they are.
 */
import { Type, type Static, type TSchema } from 'typebox';
import { aliasPattern, isOrigin, slugPattern } from '../base/link-fields.ts';
import { limits } from '../base/limits.ts';
import { Id, listOf, Name, named, Nullable, recordsQuery, Strings, Text, UnixSeconds, whole } from './basics.ts';
import { AssistantView, VisitorField } from './conversation.ts';
import { linkLimitDefault, type LinkLimitName } from '../base/link-limits.ts';

const Reasoning = () =>
  Strings(
    ['hidden', 'shown'],
    "Whether a model's reasoning is shown, stored and sent back to it, between `<think>` and `</think>` before its answer. Default: `hidden`.",
  );
const historyTokens = `How much of a conversation the model is sent, in estimated tokens; the system prompt does not count. ${limits.historyTokensMax} unless it is given.`;

const variableNames =
  'May have variables: `{{NAME}}` or `{{NAME|default}}`, with the names `visitor.FIELD`, `metadata.KEY`, `channel`, `date`, `time`, `weekday`, `assistant.name` and `session.id`.';

const ModelSettings = Type.Object({
  provider: Text(64),
  name: Text(limits.nameCharactersMax),
  credential_id: Type.Optional(Nullable(Type.String())),
  history_tokens_max: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: limits.historyTokensCeiling, description: historyTokens })),
  ),
  system_prompt: Type.Optional(Nullable(Text(limits.systemPromptCharactersMax, 0, variableNames))),
  temperature: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 2 }))),
  output_tokens_max: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000 }))),
  reasoning: Type.Optional(Reasoning()),
  fallbacks: Type.Optional(
    Nullable(
      Type.Array(
        Type.Object({
          provider: Text(64),
          name: Text(limits.nameCharactersMax),
          credential_id: Type.Optional(Nullable(Type.String())),
        }),
        {
          maxItems: limits.modelFallbacksMax,
          description: 'Models that are asked in turn where the model fails before any output of a turn.',
        },
      ),
    ),
  ),
});

const VoiceSettings = Type.Object({
  provider: Text(64),
  name: Type.Optional(
    Nullable(Text(limits.nameCharactersMax, 1, "The model that speaks; null for the provider's default.")),
  ),
  transcription_name: Type.Optional(
    Nullable(Text(limits.nameCharactersMax, 1, "The model that transcribes; null for the provider's default.")),
  ),
  voice: Type.Optional(
    Nullable(Text(limits.nameCharactersMax, 1, "An id of `GET /voices`; null for the provider's default.")),
  ),
  credential_id: Type.Optional(Nullable(Type.String())),
});

const linkLimit = (name: LinkLimitName) =>
  Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: limits.ceilingMax }), Type.Null()], {
      description: `Absent: ${linkLimitDefault(name)}. Null: no limit. 0: nobody.`,
    }),
  );

const LinkLimits = Type.Object({
  minutes_per_day: linkLimit('minutes_per_day'),
  concurrent_visitors: linkLimit('concurrent_visitors'),
  messages_per_visitor_per_day: linkLimit('messages_per_visitor_per_day'),
  messages_per_address_per_hour: linkLimit('messages_per_address_per_hour'),
  places_per_address: linkLimit('places_per_address'),
  minutes_per_address: linkLimit('minutes_per_address'),
} satisfies Record<LinkLimitName, TSchema>);

const LinkSettings = Type.Object({
  slug: Type.Optional(
    Nullable(
      Type.String({ pattern: slugPattern.source, description: 'Belongs to one assistant of the installation.' }),
    ),
  ),
  limits: Type.Optional(LinkLimits),
  // An invalid origin is a fault of the list: the contract names no item of it.
  origins: Type.Optional(
    whole(
      Type.Refine(
        Type.Array(
          Type.String({ description: '`https://HOST[:PORT]`, `https://*.HOST`, `http://localhost[:PORT]` or `*`.' }),
          { maxItems: limits.linkOriginsMax },
        ),
        (origins) => origins.every(isOrigin),
      ),
    ),
  ),
  feedback: Type.Optional(Type.Boolean({ description: 'Whether visitors can rate replies. Default: false.' })),
  identity_required: Type.Optional(
    Type.Boolean({ description: 'Whether only visitors whom the site has signed in may begin. Default: false.' }),
  ),
});

const DeskNote = () =>
  Type.Optional(
    Nullable(
      Text(
        limits.deskTextCharactersMax,
        0,
        'A note to the visitor; null for none. It may have the variables of a greeting, and `{{person.name}}`.',
      ),
    ),
  );
const whileWaiting = ['assistant', 'silent'] as const;

const DeskSettings = Type.Object({
  enabled: Type.Optional(
    Type.Boolean({ description: 'Whether visitors and the model can ask for a person. Default: false.' }),
  ),
  wait_seconds: Type.Optional(
    Type.Integer({
      minimum: limits.deskWaitSecondsMin,
      maximum: limits.deskWaitSecondsMax,
      description: 'How long a visitor waits for a person. Default: 120.',
    }),
  ),
  while_waiting: Type.Optional(Strings(whileWaiting, 'Who answers a visitor who waits. Default: `assistant`.')),
  texts: Type.Optional(Type.Object({ waiting: DeskNote(), joined: DeskNote(), left: DeskNote(), nobody: DeskNote() })),
});

const assistantFields = {
  name: Name(),
  description: Nullable(Text(limits.descriptionCharactersMax, 0)),
  greeting: Nullable(Text(limits.greetingCharactersMax, 0, variableNames)),
  channels: Type.Object({
    voice: Type.Optional(Type.Boolean()),
    link: Type.Optional(Type.Boolean()),
    widget: Type.Optional(Type.Boolean()),
  }),
  visitor_fields: Type.Array(
    Type.Object({
      name: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$' }),
      label: Type.Optional(Text(limits.nameCharactersMax)),
      type: Type.Optional(Strings(['text', 'email', 'number', 'boolean'])),
      required: Type.Optional(Type.Boolean()),
    }),
    { maxItems: limits.visitorFieldsMax },
  ),
  max_call_seconds: Type.Integer({ minimum: 1, maximum: limits.maxCallSecondsMax }),
  model: ModelSettings,
  voice: Nullable(VoiceSettings),
  link: Nullable(LinkSettings),
  desk: DeskSettings,
  tool_ids: Type.Array(Text(limits.nameCharactersMax), {
    maxItems: limits.toolsOfAssistantMax,
    description: 'The tools that its model is offered.',
  }),
  tool_rounds_max: Type.Integer({
    minimum: 1,
    maximum: limits.toolRoundsCeiling,
    description: 'Rounds of calls in a turn.',
  }),
  alias: Nullable(
    Type.String({
      pattern: aliasPattern.source,
      description:
        'Its name as the model of an OpenAI client and as a tool of an MCP client; unique in the workspace, also where `.` is read as `_`.',
    }),
  ),
  session_policy: Strings(
    ['pin', 'follow'],
    '`pin`: a session keeps its version. `follow`: each turn takes the version that a new session would get. Default: `pin`.',
  ),
  require_tests: Type.Boolean({
    description: 'Whether a draft is published, or rolled out, only once all its tests have passed. Default: false.',
  }),
};

const ceiling = () => Type.Optional(Type.Integer({ minimum: 1, maximum: limits.ceilingMax }));
const keyFields = {
  name: Name(),
  assistant_ids: Nullable(Type.Array(Text(limits.nameCharactersMax), { maxItems: limits.keyAssistantsMax })),
  expires_at: Nullable(Type.Integer({ minimum: 0, maximum: 253_402_300_799 })),
  limits: Type.Object({
    requests: ceiling(),
    speech: ceiling(),
    transcription_tokens: ceiling(),
    tokens_per_day: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Input and output tokens of the key’s turns in a UTC day. Null: no limit.',
        }),
      ),
    ),
  }),
};

const workspaceFields = {
  name: Name(),
  retention_days: Type.Integer({ minimum: 1, maximum: limits.retentionDaysMax }),
  turns_in_flight_max: Type.Integer({ minimum: 1, maximum: limits.turnsInFlightCeiling }),
};

const credentialFields = {
  name: Type.Optional(Nullable(Name('Unique in the workspace; files of `parley pull` name the credential by it.'))),
  kind: Strings(['model', 'voice', 'tool']),
  provider: Text(64),
  base_url: Nullable(Text(2000)),
  // The key is sent to the provider in a header: a text that no header can carry is refused here, not in a turn.
  api_key: Type.String({
    minLength: 1,
    maxLength: limits.secretCharactersMax,
    pattern:
      '^\\s*(?![Bb][Ee][Aa][Rr][Ee][Rr](?:[\\s:]|$))[\\x21-\\x7e\\xa1-\\xff]+(?: +[\\x21-\\x7e\\xa1-\\xff]+)*\\s*$',
    description: 'White space at its ends is removed; without the `Bearer ` that stands before it in a header.',
  }),
};

const PatchWorkspace = Type.Partial(Type.Object(workspaceFields));
const PatchVoice = Type.Partial(VoiceSettings, {
  description: 'Absent fields stay; `provider` is required where the assistant has no voice settings yet.',
});
const PatchAssistant = Type.Partial(
  Type.Object({ ...assistantFields, model: Type.Partial(ModelSettings), voice: Nullable(PatchVoice) }),
);
const NewAssistant = Type.Partial(Type.Object(assistantFields));
const PatchKey = Type.Partial(Type.Object(keyFields));

export const CreateWorkspaceBody = named(
  'CreateWorkspace',
  Type.Object({ ...PatchWorkspace.properties, name: workspaceFields.name }),
);
export const PatchWorkspaceBody = named('PatchWorkspace', PatchWorkspace);
export const CreateAssistantBody = named(
  'CreateAssistant',
  Type.Object({ ...NewAssistant.properties, name: assistantFields.name }),
);
export const PatchAssistantBody = named('PatchAssistant', PatchAssistant);
export const PublishBody = named(
  'Publish',
  Type.Object({ note: Type.Optional(Nullable(Text(limits.versionNoteCharactersMax, 0))) }),
);
export type PublishBody = Static<typeof PublishBody>;
export const CreateKeyBody = named('CreateKey', Type.Object({ ...PatchKey.properties, name: keyFields.name }));
export const PatchKeyBody = named('PatchKey', PatchKey);
const header = Type.Optional(
  Nullable(
    Type.String({
      pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$",
      description:
        'Of a credential of the kind `tool`: the header that it is sent in, bare; not one that the request has anyway, such as `Host` or `Content-Type`. Null: `Authorization: Bearer`.',
    }),
  ),
);
export const CreateCredentialBody = named(
  'CreateCredential',
  Type.Object({
    ...credentialFields,
    provider: Type.Optional(credentialFields.provider),
    base_url: Type.Optional(credentialFields.base_url),
    header,
  }),
);
export const PatchCredentialBody = named(
  'PatchCredential',
  Type.Partial(
    Type.Object({
      name: credentialFields.name,
      provider: credentialFields.provider,
      base_url: credentialFields.base_url,
      api_key: credentialFields.api_key,
      header,
    }),
  ),
);
/** Changes that are not saved, and the session that is to get them. */
export const PreviewAssistantBody = named(
  'PreviewAssistant',
  Type.Object({
    session_id: Text(limits.nameCharactersMax),
    ...Type.Partial(
      Type.Object({
        greeting: assistantFields.greeting,
        visitor_fields: assistantFields.visitor_fields,
        model: Type.Object({ system_prompt: ModelSettings.properties.system_prompt }),
      }),
    ).properties,
  }),
);
export type PreviewAssistantBody = Static<typeof PreviewAssistantBody>;
export const AssistantPreviewView = named(
  'AssistantPreview',
  Type.Object({
    object: Type.Literal('assistant_preview'),
    session_id: Id('ses'),
    system_prompt: Nullable(Type.String()),
    greeting: Nullable(Type.String()),
  }),
);
export type CreateAssistantBody = Static<typeof CreateAssistantBody>;
export type PatchAssistantBody = Static<typeof PatchAssistantBody>;
export type KeyBody = Static<typeof PatchKeyBody>;

export const WorkspacesQuery = Type.Object(recordsQuery('wks'));
export const KeysQuery = Type.Object(recordsQuery('key'));
export const CredentialsQuery = Type.Object(recordsQuery('crd'));

const stamps = { created_at: UnixSeconds(), updated_at: UnixSeconds() };

export const WorkspaceView = named(
  'Workspace',
  Type.Object({
    id: Id('wks'),
    object: Type.Literal('workspace'),
    name: Type.String(),
    retention_days: Type.Integer(),
    turns_in_flight_max: Type.Integer(),
    ...stamps,
  }),
);
export type WorkspaceView = Static<typeof WorkspaceView>;
export const WorkspaceList = listOf('WorkspaceList', WorkspaceView);

export const ConsoleAssistantView = named(
  'ConsoleAssistant',
  Type.Object({
    ...AssistantView.properties,
    visitor_fields: Type.Array(VisitorField),
    model: Type.Object({
      provider: Type.String(),
      name: Type.String(),
      credential_id: Nullable(Type.String()),
      history_tokens_max: Type.Integer({ description: historyTokens }),
      system_prompt: Nullable(Type.String()),
      temperature: Nullable(Type.Number()),
      output_tokens_max: Nullable(Type.Integer()),
      reasoning: Reasoning(),
      fallbacks: Type.Array(
        Type.Object({ provider: Type.String(), name: Type.String(), credential_id: Nullable(Type.String()) }),
      ),
    }),
    voice: Nullable(
      Type.Object({
        provider: Type.String(),
        name: Nullable(Type.String()),
        transcription_name: Nullable(Type.String()),
        voice: Nullable(Type.String()),
        credential_id: Nullable(Type.String()),
      }),
    ),
    link: Nullable(
      Type.Object({
        slug: Nullable(Type.String()),
        limits: LinkLimits,
        origins: Type.Array(Type.String()),
        feedback: Type.Boolean(),
        identity: Nullable(
          Type.Object(
            { created_at: UnixSeconds() },
            { description: 'When the secret that signs visitors was made; null for none.' },
          ),
        ),
        identity_required: Type.Boolean(),
      }),
    ),
    desk: Type.Object({
      enabled: Type.Boolean(),
      wait_seconds: Type.Integer(),
      while_waiting: Strings(whileWaiting),
      texts: Type.Object({
        waiting: Nullable(Type.String()),
        joined: Nullable(Type.String()),
        left: Nullable(Type.String()),
        nobody: Nullable(Type.String()),
      }),
    }),
    tool_ids: Type.Array(Type.String()),
    tool_rounds_max: Type.Integer(),
    alias: Nullable(Type.String()),
    draft: Type.Object(
      {
        digest: Type.String({
          description: "The digest of the settings and of the tools' definitions; the `ETag` has it in quotes.",
        }),
        changed: Type.Boolean({ description: 'Whether it differs from the current version.' }),
      },
      { description: 'The settings that the console edits: people are answered by versions.' },
    ),
    candidate: Nullable(
      Type.Object(
        {
          version: Type.Integer(),
          percent: Type.Integer({ description: 'The share of new sessions that gets it.' }),
          halt: Nullable(Type.Object({ failed_percent: Type.Integer(), after_turns: Type.Integer() })),
          state: Strings(['rolling', 'halted']),
          turns: Type.Integer({ description: 'Its turns since the rollout began, with withdrawn ones.' }),
          failed_turns: Type.Integer(),
        },
        { description: 'The version that is rolled out; null without a rollout.' },
      ),
    ),
    session_policy: Strings(['pin', 'follow']),
    require_tests: Type.Boolean(),
  }),
);
export type ConsoleAssistantView = Static<typeof ConsoleAssistantView>;
export const ConsoleAssistantList = listOf('ConsoleAssistantList', ConsoleAssistantView);

const budgetView = () =>
  Type.Object({
    limit: Type.Integer(),
    remaining: Type.Integer({ description: 'Whole requests left.' }),
    reset: Type.Integer({ description: 'The Unix second at which the budget is full again.' }),
  });

const keyView = {
  id: Id('key'),
  object: Type.Literal('key'),
  name: Type.String(),
  hint: Type.String({ description: 'The part of the key that may be shown.' }),
  status: Strings(['active', 'revoked', 'expired']),
  assistant_ids: Nullable(Type.Array(Type.String())),
  limits: Type.Object({
    requests: Type.Integer(),
    speech: Type.Integer(),
    transcription_tokens: Type.Integer(),
    tokens_per_day: Nullable(Type.Integer()),
  }),
  created_at: UnixSeconds(),
  expires_at: Nullable(UnixSeconds()),
  revoked_at: Nullable(UnixSeconds()),
  last_used_at: Nullable(
    Type.Integer({ description: 'The Unix second at which the minute of the last request began.' }),
  ),
  budgets: Type.Object(
    {
      requests: budgetView(),
      speech: budgetView(),
      transcription_tokens: budgetView(),
      tokens_per_day: Type.Optional(budgetView()),
    },
    {
      description:
        'As they stand: reading them costs nothing. `tokens_per_day` is absent without the limit; tokens that turns in flight have reserved count as used, and `reset` is the next 00:00 UTC.',
    },
  ),
};
export const KeyView = named('Key', Type.Object(keyView));
export const CreatedKeyView = named(
  'CreatedKey',
  Type.Object({ ...keyView, key: Type.String({ description: 'The key itself; shown here and never again.' }) }),
);
export type KeyView = Static<typeof KeyView>;
export type CreatedKeyView = Static<typeof CreatedKeyView>;
export const KeyList = listOf('KeyList', KeyView);

export const CredentialView = named(
  'Credential',
  Type.Object({
    id: Id('crd'),
    object: Type.Literal('credential'),
    name: Nullable(Type.String()),
    kind: Strings(['model', 'voice', 'tool']),
    provider: Type.String(),
    base_url: Nullable(Type.String()),
    header: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'Of a credential of the kind `tool` alone.' }),
    ),
    ...stamps,
  }),
);
export type CredentialView = Static<typeof CredentialView>;
export const CredentialList = listOf('CredentialList', CredentialView);
