/** `parley apply` */
import { join } from 'node:path';
import type { Command } from 'commander';
import { counted } from '../base/text.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import type { Change, Plan, Step } from './code/plan.ts';
import type { Io } from './io.ts';
import { note, oneLine, print } from './output.ts';

interface ApplyOptions extends ConnectionOptions {
  readonly check?: boolean;
  readonly publish?: boolean;
  readonly force?: boolean;
}

/** Exit codes that other commands do not have. */
const codes = { conflict: 3, changes: 4 } as const;

export function registerApply(program: Command, io: Io): void {
  addConnectionOptions(
    program
      .command('apply')
      .description('make the drafts of assistants, their tools and tests as files say')
      .argument('<folder>', 'as parley pull writes it'),
  )
    .option('--check', 'print the plan and change nothing: exit 0 nothing to do, 4 changes, 3 a conflict')
    .option('--publish', 'publish the assistants whose draft differs from their current version')
    .option('--force', 'overwrite drafts that have changed since the files were written')
    .addHelpText('after', help)
    .action(apply(io));
}

const help = `
Prints a plan, changes what differs, creates what is missing and deletes nothing. A draft that has changed since its
file was written is a conflict: nothing of that assistant is applied, and the exit code is 3. All conflicts are decided
before anything is written. The new digests are written into the files: commit them.

Exit codes: 0 done or nothing to do, 1 it failed, 2 it was called the wrong way, 3 a conflict, 4 changes (--check).

Examples:
  parley apply assistants-of-ours --check
  parley apply assistants-of-ours --publish`;

const apply =
  (io: Io) =>
  async (path: string, options: ApplyOptions): Promise<void> => {
    const { readFolder, writeIfOther } = await import('./code/folder.ts');
    const folder = await readFolder(path);
    await inWorkspace(io, options, async ({ client, workspace }) => {
      const { readWorkspace } = await import('./code/installation.ts');
      const { hasChanges, isConflict, planOf } = await import('./code/plan.ts');
      const { carryOut, checkNames, checkReferences } = await import('./code/carry-out.ts');
      const { withDigest } = await import('./code/yaml.ts');
      const { check = false, publish = false, force = false } = options;
      const state = await readWorkspace({ client, workspace });
      checkNames({ folder, state });
      const plan = planOf(folder.files, state.installation, { force, publish });
      checkReferences(plan, { folder, state });
      if (isConflict(plan)) io.exitCode = codes.conflict;
      else if (check && hasChanges(plan)) io.exitCode = codes.changes;
      print(io, options.json ? JSON.stringify(planJson(plan)) : planText(plan));
      if (check) return;
      const { overtaken, published, digests } = await carryOut(plan, publish, { client, workspace, folder, state });
      for (const [file, digest] of digests) {
        const { text, content } = folder.yaml.get(file)!;
        if (content['digest'] !== digest) await writeIfOther(join(path, file), withDigest(text, digest));
      }
      if (!options.json) for (const name of published) print(io, `Published "${oneLine(name)}".`);
      for (const name of overtaken)
        note(
          io,
          `"${oneLine(name)}" was changed by somebody else meanwhile and is left as it is. Pull and apply again.`,
        );
      if (overtaken.length > 0) io.exitCode = codes.conflict;
    });
  };

type AnyStep = Pick<Step<unknown>, 'outcome' | 'file' | 'changes' | 'reason'> & { readonly publish?: boolean };

const rowsOf = ({ tools, assistants, tests }: Plan): readonly (readonly [noun: string, step: AnyStep])[] => [
  ...tools.map((step) => ['tool', step] as const),
  ...assistants.map((step) => ['assistant', step] as const),
  ...tests.map((step) => ['test', step] as const),
];

const planJson = (plan: Plan): object => ({
  object: 'plan',
  data: rowsOf(plan).map(([object, { outcome, file, changes, reason, publish }]) => ({
    object,
    name: file.name,
    file: file.path,
    outcome,
    changes,
    ...(reason !== undefined && { reason }),
    ...(publish !== undefined && { publish }),
  })),
});

const signs = { create: '+ create', change: '~ change', conflict: '! conflict' } as const;

function planText(plan: Plan): string {
  const rows = rowsOf(plan);
  const lines = rows.flatMap(([noun, { outcome, file, changes, reason, publish }]) => {
    const name = `${noun} "${oneLine(file.name)}"`;
    const head =
      outcome === 'same'
        ? []
        : [`${signs[outcome]} ${name} (${file.path})${reason === undefined ? '' : `: ${reason}.`}`];
    const isPublished = publish ? [`> publish ${name}`] : [];
    return [...head, ...(outcome === 'same' ? [] : changes.map(changeLine)), ...isPublished];
  });
  const count = (outcome: AnyStep['outcome']): number => rows.filter(([, step]) => step.outcome === outcome).length;
  if (lines.length === 0) return `Nothing to do: ${count('same')} as the files say.`;
  const sum = `Plan: ${count('create')} to create, ${count('change')} to change, ${count('conflict')} in conflict, ${count('same')} as the files say.`;
  const advice =
    count('conflict') === 0
      ? []
      : ['Nothing of a conflict is applied: pull, merge with your version control, and apply again, or add --force.'];
  return [...lines, sum, ...advice].join('\n');
}

const shownCharacters = 60;

function changeLine({ path, before, after }: Change): string {
  const show = (value: unknown): string => {
    const text = oneLine(JSON.stringify(value) ?? 'nothing');
    return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
  };
  return path === 'prompt'
    ? `    prompt: ${linesText(before)} → ${linesText(after)}`
    : `    ${path}: ${show(before)} → ${show(after)}`;
}

const linesText = (text: unknown): string => {
  if (typeof text !== 'string') return 'none';
  const count = text.split('\n').length;
  return `${counted(count, 'line')} (${text.length} characters)`;
};
