/** `parley assistants rollout`, `promote`, `end` and `recall` */
import type { Command } from 'commander';
import type { ConsoleAssistantView, RolloutBody } from '../wire/wire.ts';
import { limits } from '../base/limits.ts';
import { versionOrDraft, wholeNumber } from './arguments.ts';
import { addCommand, pathOf } from './assistant-path.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { AdvisedFailure, UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { oneLine } from './output.ts';
import { withTestAdvice } from './required-tests.ts';

interface RolloutOptions extends ConnectionOptions {
  readonly version: RolloutBody['version'];
  readonly percent: number;
  readonly haltFailed?: number;
  readonly haltAfter?: number;
}

const noRollout = 'The assistant has no rollout. Begin one with `parley assistants rollout`.';

/** Sends a request; `missing` replaces the API's sentence where the version that it needs does not exist. */
export async function withVersionAdvice<T>(missing: string, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof AdvisedFailure) || error.answer.code !== 'version_not_found') throw error;
    throw new AdvisedFailure(missing, error.answer);
  }
}

export function registerRollouts(assistants: Command, io: Io): void {
  addConnectionOptions(
    addCommand(assistants, 'rollout', 'give a version to a share of new sessions')
      .requiredOption('--version <version>', 'its number, or draft: it becomes a version first', versionOrDraft)
      .requiredOption('--percent <percent>', 'the share, from 1 to 99', wholeNumber(1, 99))
      .option('--halt-failed <percent>', 'halt the rollout when more of its turns have failed', wholeNumber(1, 100))
      .option('--halt-after <turns>', 'turns before that, at least 10', wholeNumber(10, limits.versionNumberMax)),
  ).action(rollout(io));
  addConnectionOptions(addCommand(assistants, 'promote', 'end a rollout: all new sessions get its version')).action(
    change(io, 'rollout/promote', noRollout, ({ version }) => `New sessions get version ${version}.`),
  );
  addConnectionOptions(addCommand(assistants, 'end', 'end a rollout and retire its version')).action(
    change(
      io,
      'rollout/end',
      noRollout,
      ({ version }) => `The rollout has ended. New sessions get version ${version}.`,
    ),
  );
  addConnectionOptions(
    addCommand(assistants, 'recall', 'move every open session to the current version at its next turn'),
  ).action(
    change(
      io,
      'recall',
      'The assistant has no version yet.',
      ({ version }) => `Every open session moves to version ${version} with its next turn.`,
    ),
  );
}

const rollout =
  (io: Io) =>
  (selector: string, options: RolloutOptions): Promise<void> => {
    const body = bodyOf(options);
    return inWorkspace(io, options, async (connection) => {
      const { client } = connection;
      const path = await pathOf(connection, selector);
      const answer = await withTestAdvice(client, path, () =>
        client.post<ConsoleAssistantView>(`${path}/rollout`, body),
      );
      connection.show(answer, ({ id, name, candidate }) =>
        candidate === null
          ? `"${oneLine(name)}" (${id}) has no rollout.`
          : `${candidate.percent} % of new sessions of "${oneLine(name)}" (${id}) get version ${candidate.version}.`,
      );
    });
  };

function bodyOf({ version, percent, haltFailed, haltAfter }: RolloutOptions): RolloutBody {
  if ((haltFailed === undefined) !== (haltAfter === undefined))
    throw new UsageFailure('--halt-failed and --halt-after belong together: --halt-failed 5 --halt-after 50.');
  return {
    version,
    percent,
    ...(haltFailed !== undefined && { halt: { failed_percent: haltFailed, after_turns: haltAfter! } }),
  };
}

const change =
  (io: Io, verb: string, missing: string, said: (assistant: ConsoleAssistantView) => string) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = `${await pathOf(connection, selector)}/${verb}`;
      const answer = await withVersionAdvice(missing, () => connection.client.post<ConsoleAssistantView>(path));
      connection.show(answer, said);
    });
