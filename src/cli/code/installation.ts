/** Assistants and tools of a workspace, as `parley pull` and `parley apply` read and write them. */
import type { ConsoleAssistantView, CredentialView, TestView, ToolView } from '../../wire/wire.ts';
import { AdvisedFailure, CommandFailure } from '../exit.ts';
import { segment, type ConsoleClient } from '../console-client.ts';
import type { Installation, Stored } from './plan.ts';
import {
  digestOfTest,
  settingsOfAssistant,
  settingsOfTest,
  settingsOfTool,
  testName,
  type NameOf,
  type TestSettings,
} from './settings.ts';

export interface WorkspaceState {
  readonly installation: Installation;
  /** Credentials without a name that assistants or tools use, by the name of one that does. */
  readonly nameless: ReadonlyMap<string, string>;
  /** Ids of credentials by their names. */
  readonly credentials: ReadonlyMap<string, string>;
}

interface Reader {
  readonly client: ConsoleClient;
  /** The path of the workspace. */
  readonly workspace: string;
}

export async function readWorkspace({ client, workspace }: Reader): Promise<WorkspaceState> {
  const all = async <Row>(kind: string): Promise<Row[]> => {
    const rows: Row[] = [];
    for await (const row of client.all<Row>(`${workspace}/${kind}`, { order: 'asc' })) rows.push(row);
    return rows;
  };
  // Assistants last: a tool that an assistant got since is looked up in vain, not taken for one that is gone.
  const credentials = await all<CredentialView>('credentials');
  const assistants = await all<ConsoleAssistantView>('assistants');
  const tools = await all<ToolView>('tools');
  const tests: Stored<TestSettings>[] = [];
  for (const { id, name } of assistants)
    for (const view of await all<TestView>(`assistants/${segment(id)}/tests`).catch(noneOfRemoved))
      tests.push(storedTest(view, name));
  const credentialNames = new Map(credentials.map(({ id, name }) => [id, name]));
  const toolNames = new Map(tools.map(({ id, name }) => [id, name]));
  const nameless = new Map<string, string>();
  const credentialNameIn =
    (user: string): NameOf =>
    (id) => {
      const name = credentialNames.get(id);
      if (name === null) nameless.set(id, user);
      // An id stands for the name that is missing, so that a file's name differs from it.
      return name === null ? id : (name ?? null);
    };
  return {
    installation: {
      tests,
      assistants: assistants.map((view) => ({
        ...view,
        digest: view.draft.digest,
        changed: view.draft.changed,
        settings: settingsOfAssistant(view, {
          tool: (id) => toolNames.get(id) ?? null,
          credential: credentialNameIn(view.name),
        }),
      })),
      tools: tools.map((view) => ({ ...view, settings: settingsOfTool(view, credentialNameIn(view.name)) })),
    },
    nameless,
    credentials: new Map(credentials.flatMap(({ id, name }) => (name === null ? [] : [[name, id] as const]))),
  };
}

/** An assistant that has been deleted since it was listed has no tests. */
function noneOfRemoved(error: unknown): TestView[] {
  if (error instanceof AdvisedFailure && error.answer.code === 'assistant_not_found') return [];
  throw error;
}

export function storedTest(view: TestView, assistant: string): Stored<TestSettings> {
  const settings = settingsOfTest(view, assistant);
  return { id: view.id, name: testName(assistant, view.name), digest: digestOfTest(settings), settings };
}

/** Rejects names that two assistants or two tools have: files refer to them by name. */
export function refuseTwins(rows: readonly Pick<Stored<unknown>, 'id' | 'name'>[], nouns: string): void {
  const ids = new Map<string, string[]>();
  for (const { id, name } of rows) ids.set(name, [...(ids.get(name) ?? []), id]);
  const twins = [...ids].filter(([, { length }]) => length > 1);
  const shown = twins.map(([name, all]) => `${JSON.stringify(name)} (${all.join(', ')})`);
  if (twins.length > 0)
    throw new CommandFailure(
      `Several ${nouns} have one name: ${shown.join(', ')}. Files name each by its name: rename all but one.`,
    );
}
