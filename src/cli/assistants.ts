/** `parley assistants` */
import type { Command } from 'commander';
import { limits } from '../base/limits.ts';
import type { ConsoleAssistantView, VersionChangesView, VersionView } from '../wire/wire.ts';
import { versionNumber, versionOrDraft } from './arguments.ts';
import { assistantBody, assistantFlags, isVoiceAlone, usualVoice, type AssistantOptions } from './assistant-body.ts';
import { addConnectionOptions, inWorkspace, type ConsoleConnection, type ConnectionOptions } from './connection.ts';
import { segment, type ConsoleAnswer } from './console-client.ts';
import { addCommand, pathOf } from './assistant-path.ts';
import { withTestAdvice } from './required-tests.ts';
import { registerRollouts, withVersionAdvice } from './rollouts.ts';
import { toolId } from './tools.ts';
import { CommandFailure, UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { addPageOptions, listOf, showPage, type ListView } from './list.ts';
import { fields, note, oneLine, time } from './output.ts';

type Version = ReturnType<typeof versionOrDraft>;

export function registerAssistants(program: Command, io: Io): void {
  const assistants = program.command('assistants').description('assistants: create, change, publish, disable');
  assistants.addHelpText('after', examples);
  addPageOptions(assistants.command('list').description('list the assistants')).action(
    listOf(io, 'assistants', assistantList),
  );
  addConnectionOptions(
    assistantFlags(assistants.command('create').description('create an assistant, as a draft').argument('[name]')),
  )
    .option('--publish', 'publish it at once')
    .action(create(io));
  addConnectionOptions(addCommand(assistants, 'show', 'show an assistant with its settings')).action(show(io));
  addConnectionOptions(
    assistantFlags(addCommand(assistants, 'update', 'change settings; the others stay as they are')).option(
      '--name <name>',
      'its new name',
    ),
  ).action(update(io));
  addConnectionOptions(
    addCommand(assistants, 'publish', 'make a version of the draft, which people get').option(
      '--note <text>',
      `a note on the version, at most ${limits.versionNoteCharactersMax} characters`,
    ),
  ).action(change(io, 'publish'));
  for (const [verb, description] of changes) {
    addConnectionOptions(addCommand(assistants, verb, description)).action(change(io, verb));
  }
  addConnectionOptions(addCommand(assistants, 'versions', 'list the newest versions')).action(versions(io));
  addConnectionOptions(
    addCommand(assistants, 'changes', 'compare a version with another one')
      .argument('<version>', 'its number, or draft', versionOrDraft)
      .option(
        '--from <version>',
        'a number, or draft; default: the version before, and for the draft the current one',
        versionOrDraft,
      ),
  ).action(versionChanges(io));
  addConnectionOptions(
    addCommand(assistants, 'rollback', 'make an earlier version current').option(
      '--version <number>',
      'default: the one that was current before',
      versionNumber,
    ),
  ).action(rollback(io));
  registerRollouts(assistants, io);
  addConnectionOptions(addCommand(assistants, 'delete', 'delete an assistant')).action(remove(io));
}

const changes = [
  ['unpublish', 'make it a draft again: no new sessions and turns'],
  ['disable', 'switch it off'],
  ['enable', 'switch it on again, published'],
] as const;

const examples = `
Examples:
  parley assistants create helper --publish
  parley assistants create support --provider openai --model gpt-4o-mini --credential crd_… \\
    --system-prompt-file prompt.txt --visitor-field email:email:required --publish
  parley assistants update support --tool Orders --tool-rounds-max 4
  parley assistants update support --voice --voice-id rms
  parley assistants update support --temperature 0.2 --greeting "Hello! How can I help?"
  parley assistants publish support --note "Refunds within 30 days"
  parley assistants changes support draft
  parley assistants rollback support
  parley assistants rollout support --version draft --percent 10 --halt-failed 5 --halt-after 50
  parley assistants promote support
  parley assistants disable support`;

const create =
  (io: Io) =>
  async (
    name: string | undefined,
    options: AssistantOptions & ConnectionOptions & { publish?: boolean },
  ): Promise<void> => {
    const body = await assistantBody(io, { ...options, name }, 'create');
    return inWorkspace(io, options, async (connection) => {
      const { client, workspace, show } = connection;
      let answer = await client.post<ConsoleAssistantView>(`${workspace}/assistants`, {
        ...body,
        ...(await toolsOf(connection, options)),
      });
      if (options.publish)
        answer = await client.post<ConsoleAssistantView>(`${workspace}/assistants/${segment(answer.body.id)}/publish`);
      show(
        answer,
        (assistant) =>
          `Created the assistant "${oneLine(assistant.name)}" (${assistant.id}). It is ${states[assistant.status]}.`,
      );
    });
  };

const show =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      connection.show(await connection.client.get<ConsoleAssistantView>(await pathOf(connection, selector)), renderOne);
    });

const update =
  (io: Io) =>
  async (selector: string, options: AssistantOptions & ConnectionOptions): Promise<void> => {
    const body = await assistantBody(io, options, 'update');
    if (Object.keys(body).length === 0 && options.tool === undefined)
      throw new UsageFailure('Nothing to change: name a setting, as in --greeting "Hello!".');
    return inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      if (isVoiceAlone(body.voice) && (await connection.client.get<ConsoleAssistantView>(path)).body.voice === null)
        body.voice = { provider: usualVoice, ...body.voice };
      const answer = await connection.client.patch<ConsoleAssistantView>(path, {
        ...body,
        ...(await toolsOf(connection, options)),
      });
      connection.show(
        answer,
        (assistant) => `Changed the assistant "${oneLine(assistant.name)}" (${assistant.id}).${unpublished(assistant)}`,
      );
    });
  };

const change =
  (io: Io, verb: string) =>
  (selector: string, options: ConnectionOptions & { note?: string }): Promise<void> => {
    const { note: text } = options;
    if (text !== undefined && [...text].length > limits.versionNoteCharactersMax)
      throw new UsageFailure(`--note has at most ${limits.versionNoteCharactersMax} characters.`);
    return inWorkspace(io, options, async (connection) => {
      const { client } = connection;
      const path = await pathOf(connection, selector);
      const before = text === undefined ? null : (await client.get<ConsoleAssistantView>(path)).body;
      const answer = await withTestAdvice(client, path, () =>
        client.post<ConsoleAssistantView>(`${path}/${verb}`, text === undefined ? undefined : { note: text }),
      );
      const { version } = answer.body;
      if (before !== null && (version === before.version || version === before.candidate?.version))
        note(io, `The note is not stored: the draft equals version ${version}, so no version was made.`);
      connection.show(
        answer,
        (assistant) =>
          `The assistant "${oneLine(assistant.name)}" (${assistant.id}) is ${states[assistant.status]}${verb === 'publish' ? `: new sessions get version ${assistant.version}` : ''}.`,
      );
    });
  };

const versions =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      await showPage(connection, `${await pathOf(connection, selector)}/versions`, {}, versionList);
    });

const versionChanges =
  (io: Io) =>
  (selector: string, version: Version, options: ConnectionOptions & { from?: Version }): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { client } = connection;
      const path = await pathOf(connection, selector);
      const answer =
        version === 'draft'
          ? await draftChanges(client, path, options.from)
          : await client.get<VersionChangesView>(`${path}/versions/${version}/changes`, {
              from: options.from,
            });
      connection.show(answer, ({ data }) =>
        data.length === 0
          ? 'No differences.'
          : data.map((one) => `${one.path}: ${JSON.stringify(one.before)} -> ${JSON.stringify(one.after)}`).join('\n'),
      );
    });

/** Changes from a version to the draft. The API compares a version with the draft only in the other direction. */
async function draftChanges(
  client: ConsoleConnection['client'],
  path: string,
  from: Version | undefined,
): Promise<ConsoleAnswer<VersionChangesView>> {
  const number = from ?? (await client.get<ConsoleAssistantView>(path)).body.version;
  if (number === null) throw new CommandFailure('The assistant has no version yet.');
  const changes = `${path}/versions/${number}/changes`;
  const { body: reverse } = await client.get<VersionChangesView>(changes, { from: 'draft' });
  const body = {
    ...reverse,
    data: reverse.data.map(({ before, after, ...rest }) => ({ ...rest, before: after, after: before })),
  };
  return { body, text: JSON.stringify(body) };
}

const rollback =
  (io: Io) =>
  (selector: string, options: ConnectionOptions & { version?: number }): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { version } = options;
      const path = await pathOf(connection, selector);
      const answer = await withVersionAdvice(
        version === undefined
          ? 'The assistant has no earlier version to go back to.'
          : `The assistant has no version ${version}.`,
        () =>
          connection.client.post<ConsoleAssistantView>(`${path}/rollback`, version === undefined ? {} : { version }),
      );
      connection.show(
        answer,
        (assistant) =>
          `New sessions of "${oneLine(assistant.name)}" (${assistant.id}) get version ${assistant.version}.`,
      );
    });

const remove =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const answer = await connection.client.delete(await pathOf(connection, selector));
      connection.show(answer, () => `Deleted the assistant ${selector}.`);
    });

/** The tools that are named, by id. */
async function toolsOf(
  connection: ConsoleConnection,
  { tool }: AssistantOptions,
): Promise<{ readonly tool_ids?: readonly string[] }> {
  if (tool === undefined) return {};
  const tool_ids: string[] = [];
  for (const selector of tool) if (selector !== '') tool_ids.push(await toolId(connection, selector));
  return { tool_ids };
}

/** The hint that people do not get the draft yet. A change that is effective at once can leave an older edit in it. */
const unpublished = ({ id, status, version, draft }: ConsoleAssistantView): string =>
  status === 'published' && draft.changed
    ? ` The draft differs from version ${version}, which people get: publish it with \`parley assistants publish ${id}\`.`
    : '';

const states = { draft: 'a draft', published: 'published', disabled: 'disabled' } as const;

const assistantList: ListView<ConsoleAssistantView> = {
  empty: 'No assistants.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'PROVIDER', cell: ({ model }) => model.provider },
    { title: 'MODEL', cell: ({ model }) => model.name },
    { title: 'UPDATED', cell: (assistant) => time(assistant.updated_at) },
  ],
};

const versionList: ListView<VersionView> = {
  empty: 'No versions.',
  columns: [
    { title: 'VERSION', cell: ({ number }) => number },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'SESSIONS', cell: ({ sessions }) => sessions },
    { title: 'TURNS', cell: ({ turns }) => turns },
    { title: 'FAILED', cell: (version) => version.failed_turns },
    { title: 'CREATED', cell: (version) => time(version.created_at) },
    { title: 'BY', cell: (version) => version.created_by?.name },
    { title: 'NOTE', cell: ({ note: text }) => text },
  ],
};

const rolloutOf = ({ candidate }: ConsoleAssistantView): string =>
  candidate == null
    ? ''
    : `version ${candidate.version}, ${candidate.percent} %, ${candidate.state}: ${candidate.failed_turns} of ${candidate.turns} turns failed`;

const sessionPolicies = { pin: 'keep their version', follow: 'follow the current version' } as const;

const versionOf = ({ version, draft }: ConsoleAssistantView): string =>
  version === null ? '' : `${version}${draft.changed ? ' (the draft differs)' : ''}`;

function renderOne(assistant: ConsoleAssistantView): string {
  const { model, voice } = assistant;
  const channels = Object.entries(assistant.channels).flatMap(([name, on]) => (on ? [name] : []));
  const visitorFields = assistant.visitor_fields.map(
    (field) => `${field.name} (${field.type}${field.required ? ', required' : ''}): ${oneLine(field.label)}`,
  );
  return fields([
    ['assistant', assistant.id],
    ['name', oneLine(assistant.name)],
    ['status', assistant.status],
    ['version', versionOf(assistant)],
    ['rollout', rolloutOf(assistant)],
    ['sessions', sessionPolicies[assistant.session_policy]],
    ...(assistant.require_tests ? [['tests', 'required before a draft is published'] as const] : []),
    ['description', assistant.description ?? ''],
    ['greeting', assistant.greeting ?? ''],
    ['model', `${model.provider} ${model.name}`],
    ['credential', model.credential_id ?? ''],
    ['history tokens', String(model.history_tokens_max)],
    ['temperature', String(model.temperature ?? '')],
    ['output tokens', String(model.output_tokens_max ?? '')],
    ['reasoning', model.reasoning],
    ['system prompt', model.system_prompt ?? ''],
    ['voice', voice === null ? '' : [voice.provider, voice.voice ?? voice.name ?? ''].join(' ').trim()],
    ['channels', ['api', ...channels].join(', ')],
    ['desk', assistant.desk.enabled ? `open, visitors wait for ${assistant.desk.wait_seconds} s` : 'closed'],
    ['visitor fields', visitorFields.join('\n')],
    ['tools', (assistant.tool_ids ?? []).join('\n')],
    ['session length', `${assistant.max_call_seconds} s`],
    ['created', time(assistant.created_at)],
    ['updated', time(assistant.updated_at)],
  ]);
}
