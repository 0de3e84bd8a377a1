/** The console's shapes of the versions of assistants (contract 20). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { indexQuery, listOf, named, Nullable, Strings, UnixSeconds } from './basics.ts';
import { ConsoleAssistantView } from './console.ts';

const Number = () => Type.Integer({ minimum: 1, maximum: limits.versionNumberMax });

/** The cursors are numbers of versions. */
export const VersionsQuery = Type.Object(indexQuery());
export const VersionChangesQuery = Type.Object({
  from: Type.Optional(
    Type.String({
      pattern: '^(draft|[1-9][0-9]{0,8})$',
      description: 'The number of a version, or `draft`. Default: the version before.',
    }),
  ),
});
export type VersionChangesQuery = Static<typeof VersionChangesQuery>;
export const RolloutBody = named(
  'Rollout',
  Type.Object({
    version: Type.Union([Number(), Type.Literal('draft')], {
      description: 'A number, or `draft`: it becomes a version first.',
    }),
    percent: Type.Integer({ minimum: 1, maximum: 99, description: 'The share of new sessions that gets it.' }),
    halt: Type.Optional(
      Nullable(
        Type.Object({
          failed_percent: Type.Integer({ minimum: 1, maximum: 100 }),
          after_turns: Type.Integer({ minimum: 10, maximum: limits.versionNumberMax }),
        }),
      ),
    ),
  }),
);
export type RolloutBody = Static<typeof RolloutBody>;
export const RollbackBody = named('Rollback', Type.Object({ version: Type.Optional(Number()) }));
export type RollbackBody = Static<typeof RollbackBody>;

const fields = {
  object: Type.Literal('assistant_version'),
  number: Type.Integer(),
  digest: Type.String(),
  note: Nullable(Type.String()),
  created_at: UnixSeconds(),
  created_by: Nullable(
    Type.Object(
      { id: Type.String(), name: Type.String() },
      { description: 'The person who published it; null for a version from before versions existed.' },
    ),
  ),
  state: Strings(['current', 'candidate', 'retired']),
  sessions: Type.Integer({ description: 'Sessions that were created on it.' }),
  turns: Type.Integer({ description: 'Turns that ended on it.' }),
  failed_turns: Type.Integer(),
  feedback_up: Type.Integer(),
  feedback_down: Type.Integer(),
};
const Changes = () => Type.Array(Type.Object({ path: Type.String(), before: Type.Unknown(), after: Type.Unknown() }));

export const VersionView = named('AssistantVersion', Type.Object(fields));
export type VersionView = Static<typeof VersionView>;
export const VersionList = listOf('AssistantVersionList', VersionView);

const { model, greeting, visitor_fields, voice, max_call_seconds, tool_ids, tool_rounds_max } =
  ConsoleAssistantView.properties;
export const VersionWithConfigView = named(
  'AssistantVersionWithConfig',
  Type.Object({
    ...fields,
    config: Type.Object({
      ...{ model, greeting, visitor_fields, voice, max_call_seconds, tool_ids, tool_rounds_max },
      tools: Type.Optional(
        Type.Array(
          Type.Object({
            id: Type.String(),
            kind: Strings(['http', 'mcp', 'client']),
            name: Type.String(),
            url: Nullable(Type.String()),
            timeout_seconds: Type.Integer(),
            repeatable: Type.Boolean(),
            calls_per_minute: Nullable(Type.Integer()),
            functions: Type.Array(
              Type.Object({
                name: Type.String(),
                remote_name: Type.Optional(
                  Type.String({ description: 'Its name on the MCP server; absent if it is the same.' }),
                ),
                description: Nullable(Type.String()),
                parameters: Type.Unknown(),
                approval: Strings(['never', 'always']),
                show: Strings(['none', 'name', 'full']),
              }),
            ),
          }),
          {
            description:
              'The tools as the version contains them, with the functions that are enabled. Absent for a person who may not read settings of tools.',
          },
        ),
      ),
    }),
  }),
);
export const VersionChangesView = named(
  'AssistantVersionChanges',
  Type.Object({ object: Type.Literal('version_changes'), data: Changes() }),
);
export type VersionChangesView = Static<typeof VersionChangesView>;
export const RestoredAssistantView = named(
  'RestoredAssistant',
  Type.Object({
    ...ConsoleAssistantView.properties,
    tools_differ: Type.Array(
      Type.Object(
        { tool_id: Type.String(), name: Type.String(), changes: Changes() },
        {
          description: 'Tools that are not as the version contains them; one that is gone is not in `tool_ids`.',
        },
      ),
    ),
  }),
);
