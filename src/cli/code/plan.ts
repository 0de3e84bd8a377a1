/** The plan of `parley apply`: what has to be done so that the drafts are as the files say. It decides, and does nothing. */
import { isDeepStrictEqual } from 'node:util';
import type { AssistantSettings, Json, TestSettings, ToolSettings } from './settings.ts';

export interface FileOf<Settings> {
  readonly path: string;
  readonly name: string;
  /** The digest of the draft that the file was written from; null for a file without one. */
  readonly digest: string | null;
  readonly settings: Settings;
}

export interface Stored<Settings> {
  readonly id: string;
  readonly name: string;
  readonly digest: string;
  readonly settings: Settings;
}

export interface StoredAssistant extends Stored<AssistantSettings> {
  /** Whether the draft differs from the current version. */
  readonly changed: boolean;
  readonly status: string;
}

export interface Files {
  readonly assistants: readonly FileOf<AssistantSettings>[];
  readonly tools: readonly FileOf<ToolSettings>[];
  readonly tests: readonly FileOf<TestSettings>[];
}

export interface Installation {
  readonly assistants: readonly StoredAssistant[];
  readonly tools: readonly Stored<ToolSettings>[];
  readonly tests: readonly Stored<TestSettings>[];
}

export interface Change {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** `stored` is null for one that is to be created. */
type Outcome<Row> =
  | { readonly outcome: 'create'; readonly stored: null }
  | { readonly outcome: 'change' | 'same'; readonly stored: Row }
  | { readonly outcome: 'conflict'; readonly stored: Row | null };

export type Step<Settings, Row extends Stored<Settings> = Stored<Settings>> = Outcome<Row> & {
  readonly file: FileOf<Settings>;
  readonly changes: readonly Change[];
  /** Reason for a conflict. */
  readonly reason?: string;
};

export type AssistantStep = Step<AssistantSettings, StoredAssistant> & { readonly publish: boolean };

export interface Plan {
  readonly tools: readonly Step<ToolSettings>[];
  readonly assistants: readonly AssistantStep[];
  readonly tests: readonly Step<TestSettings>[];
}

export interface PlanOptions {
  readonly force: boolean;
  readonly publish: boolean;
}

export function planOf(files: Files, installation: Installation, { force, publish }: PlanOptions): Plan {
  const tools = files.tools.map((file) => compare(file, byName(installation.tools, file.name), force, toolChanges));
  const stepOf = new Map(tools.map((step) => [step.file.name, step]));
  const assistants = files.assistants.map((file) => {
    const stored = byName(installation.assistants, file.name);
    const step = compare(file, stored, force, changesOf);
    // An edited tool changes the draft, which is in conflict although its settings agree with the file.
    const isEdited = step.outcome === 'same' && isStale(file, stored) && !force;
    const isOfTools = isEdited && toolsOf(file, stored).some((name) => stepOf.get(name)?.outcome === 'conflict');
    return isOfTools ? conflict(step, changedSince) : step;
  });
  const held = holdBack(tools, assistants);
  const isHeld = new Set(held.assistants.filter(({ outcome }) => outcome === 'conflict').map(({ file }) => file.name));
  const tests = files.tests.map((file) => {
    const step = compare(file, byName(installation.tests, file.name), force, changesOf);
    const { assistant } = file.settings;
    return step.outcome !== 'same' && isHeld.has(assistant) ? conflict(step, `so is "${assistant}"`) : step;
  });
  return {
    tests,
    tools: held.tools,
    assistants: held.assistants.map((step) => ({ ...step, publish: publish && isPublished(step, held.tools) })),
  };
}

/** Whether the assistant's draft will differ from its current version. A disabled one stays as it is. */
const isPublished = (
  { outcome, file, stored }: Step<AssistantSettings, StoredAssistant>,
  tools: readonly Step<ToolSettings>[],
): boolean =>
  outcome !== 'conflict' &&
  stored?.status !== 'disabled' &&
  (outcome !== 'same' ||
    stored.changed ||
    stored.status !== 'published' ||
    tools.some((tool) => tool.outcome === 'change' && file.settings.tools.includes(tool.file.name)));

const changedSince = 'it has changed since the file was written';
const noDigest = 'the file has no digest, so nobody knows which draft it was written from';

const byName = <Row extends { readonly name: string }>(rows: readonly Row[], name: string): Row | null =>
  rows.find((row) => row.name === name) ?? null;

const isStale = (file: FileOf<unknown>, stored: Stored<unknown> | null): boolean =>
  stored !== null && stored.digest !== file.digest;

function compare<Settings extends object, Row extends Stored<Settings>>(
  file: FileOf<Settings>,
  stored: Row | null,
  force: boolean,
  differ: (before: Settings, after: Settings) => Change[],
): Step<Settings, Row> {
  if (stored === null) return { outcome: 'create', file, stored, changes: [] };
  const changes = differ(stored.settings, file.settings);
  if (changes.length === 0) return { outcome: 'same', file, stored, changes };
  const step = { outcome: 'change', file, stored, changes } as const;
  return isStale(file, stored) && !force ? conflict(step, file.digest === null ? noDigest : changedSince) : step;
}

const conflict = <Settings, Row extends Stored<Settings>>(
  step: Step<Settings, Row>,
  reason: string,
): Step<Settings, Row> => ({
  ...step,
  outcome: 'conflict',
  reason,
});

const toolsOf = (file: FileOf<AssistantSettings>, stored: Stored<AssistantSettings> | null): string[] => [
  ...new Set([...file.settings.tools, ...(stored?.settings.tools ?? [])]),
];

/**
 * Holds back what belongs to a conflict: a change of a tool that an assistant in conflict has would change its draft,
 * and an assistant whose tool is held back would get half of its change.
 */
function holdBack(
  tools: readonly Step<ToolSettings>[],
  assistants: readonly Step<AssistantSettings, StoredAssistant>[],
) {
  const heldTools = new Map(tools.map((step) => [step.file.name, step]));
  const held = [...assistants];
  for (let moved = true; moved;) {
    moved = false;
    for (const [index, step] of held.entries()) {
      const names = toolsOf(step.file, step.stored);
      if (step.outcome === 'conflict') {
        for (const name of names) {
          const tool = heldTools.get(name);
          if (tool?.outcome !== 'change') continue;
          heldTools.set(name, conflict(tool, `the assistant "${step.file.name}" has it`));
          moved = true;
        }
      } else if (step.outcome !== 'same') {
        const tool = names.find((name) => heldTools.get(name)?.outcome === 'conflict');
        if (tool === undefined) continue;
        held[index] = conflict<AssistantSettings, StoredAssistant>(step, `its tool "${tool}" is in conflict`);
        moved = true;
      }
    }
  }
  return { tools: [...heldTools.values()], assistants: held };
}

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Differences by their paths; lists are compared as a whole. */
function changesOf(before: object, after: object, path = ''): Change[] {
  const [one, other] = [before as Json, after as Json];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) => {
    const [old, next] = [one[key], other[key]];
    if (isDeepStrictEqual(old, next)) return [];
    if (path === '' && isMap(old) && isMap(next)) return changesOf(old, next, `${key}.`);
    return [{ path: path + key, before: old, after: next }];
  });
}

/** An MCP server has the list of its functions: those that the file leaves out stay as they are. */
function toolChanges(before: ToolSettings, after: ToolSettings): Change[] {
  if (after.kind !== 'mcp' || before.kind !== 'mcp') return changesOf(before, after);
  const named = new Map(after.functions.map((each) => [each['name'], each]));
  const functions = before.functions.map((each) => named.get(each['name']) ?? each);
  const unknown = after.functions.filter(({ name }) => !before.functions.some((each) => each['name'] === name));
  return changesOf(before, { ...after, functions: [...functions, ...unknown] });
}

export const isConflict = ({ tools, assistants, tests }: Plan): boolean =>
  [...tools, ...assistants, ...tests].some(({ outcome }) => outcome === 'conflict');

export const hasChanges = ({ tools, assistants, tests }: Plan): boolean =>
  [...tools, ...assistants, ...tests].some(({ outcome }) => outcome === 'create' || outcome === 'change') ||
  assistants.some(({ publish }) => publish);
