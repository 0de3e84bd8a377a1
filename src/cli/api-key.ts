/** The API key of a command that talks to the API as a program does: a given key, or a key for this command alone. */
import { secondsOf, type Clock } from '../base/clock.ts';
import type { CreatedKeyView } from '../wire/wire.ts';
import { operatorToken, type ConnectionOptions } from './connection.ts';
import { ConsoleClient, segment } from './console-client.ts';
import { failureLine, UsageFailure } from './exit.ts';
import type { Environment } from './io.ts';

/** Seconds until the command's own key expires. */
const commandKeySeconds = 24 * 3600;

export interface KeyOptions extends ConnectionOptions {
  readonly key?: string;
}

export interface CommandKey {
  readonly key: string;
  /** Revokes the key if it was created here; if that fails, it reports that to `note`. */
  revoke(note: (text: string) => void): Promise<void>;
}

/** `name`: of the command, and so of a key that is created. */
export async function commandKey(
  name: string,
  options: KeyOptions,
  environment: Environment,
  url: string,
  clock: Clock,
): Promise<CommandKey> {
  const key = options.key || environment.PARLEY_API_KEY;
  if (key) {
    if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageFailure('An API key is printable ASCII without spaces.');
    return { key, revoke: async () => {} };
  }
  const client = new ConsoleClient(url, operatorToken(options, environment));
  const path = `/workspaces/${segment(await client.workspace(options.workspace))}/keys`;
  const expires_at = secondsOf(clock.now()) + commandKeySeconds;
  const { body } = await client.post<CreatedKeyView>(path, { name, expires_at });
  return {
    key: body.key,
    revoke: (note) =>
      client.post(`${path}/${segment(body.id)}/revoke`).then(
        () => {},
        (error: unknown) =>
          note(
            `parley: The key "${name}" could not be revoked and stays good for up to 24 hours: ${failureLine(error)}`,
          ),
      ),
  };
}
