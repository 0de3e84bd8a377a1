/** Interprets the responses of a server's handshake. No I/O. */
import { isObject, parseObject } from '../../../base/json.ts';
import type { EntryStep, ToolError } from '../../../base/tool-errors.ts';
import type { SentFailure } from '../sending.ts';
import type { Outcome } from './exchange.ts';
import { legacyVersions, modernVersion, type Protocol } from './messages.ts';

export interface EntryFailure {
  readonly step: EntryStep;
  readonly error: ToolError;
  readonly again: SentFailure['again'];
}

/** Statuses by which a server asks for a credential: a retry with the same one would be refused. */
const denials: ReadonlySet<number> = new Set([401, 403]);

/**
 * Next step after the probe `server/discover`. Servers of the legacy era answer it in many ways, or not at all:
 * everything but a denial and a failed connection leads to `initialize`. A server that refuses the version and names
 * others is probed once more.
 */
export function afterProbe(outcome: Outcome): Protocol | EntryFailure | 'initialize' | 'probe' {
  const isLasting =
    (outcome.kind === 'failure' && outcome.didNotAct) || (outcome.kind === 'refusal' && denials.has(outcome.status));
  if (isLasting) return failureAt('probe', outcome);
  const result = resultIn(outcome);
  const versions = isObject(result) ? result['supportedVersions'] : undefined;
  if (Array.isArray(versions) && versions.includes(modernVersion)) return { era: 'modern' };
  return supportedIn(outcome).includes(modernVersion) ? 'probe' : 'initialize';
}

/** Checks the version, which becomes a header value. */
const versionText = /^[\x21-\x7e]{1,64}$/;

/**
 * Interprets the response to `initialize` with a version: an agreement, another version to offer, or a failure. Unused
 * parts may have any value.
 */
export function afterInitialize(
  outcome: Outcome,
  offered: string,
): Protocol | EntryFailure | { readonly offer: string } {
  const result = resultIn(outcome);
  if (isObject(result)) {
    const { protocolVersion } = result;
    const version =
      typeof protocolVersion === 'string' && versionText.test(protocolVersion) ? protocolVersion : offered;
    return { era: 'legacy', version, session: outcome.kind === 'answer' ? outcome.session : '' };
  }
  const supported = supportedIn(outcome);
  const offer = legacyVersions.find((version) => version !== offered && supported.includes(version));
  return offer === undefined ? failureAt('initialize', outcome) : { offer };
}

const resultIn = (outcome: Outcome): unknown =>
  outcome.kind === 'answer' && 'result' in outcome.answer ? outcome.answer.result : undefined;

/** Versions that an error offers in place of the refused one. */
function supportedIn(outcome: Outcome): readonly unknown[] {
  const error =
    outcome.kind === 'answer' && 'error' in outcome.answer
      ? outcome.answer.error
      : outcome.kind === 'refusal'
        ? parseObject(outcome.errorText)?.['error']
        : undefined;
  const data = isObject(error) ? error['data'] : undefined;
  const supported = isObject(data) ? data['supported'] : undefined;
  return Array.isArray(supported) ? supported : [];
}

/** Returns the failure of a step. A JSON-RPC error is a refusal, as is a result of the wrong form. */
export function failureAt(step: EntryStep, outcome: Outcome): EntryFailure {
  if (outcome.kind === 'accepted') return { step, error: 'malformed', again: 'never' };
  if (outcome.kind === 'answer')
    return { step, error: 'error' in outcome.answer ? 'refused' : 'malformed', again: 'never' };
  const { error, again } = outcome;
  return { step: outcome.kind === 'failure' && outcome.didNotAct ? 'connect' : step, error, again };
}

/** Whether a server no longer knows a session: 404, or, as its official examples do, a 400 that names the session. */
export const isSessionLost = (outcome: Outcome): boolean =>
  outcome.kind === 'refusal' &&
  (outcome.status === 404 || (outcome.status === 400 && /session/i.test(outcome.errorText)));

/** Whether a connection is reused after an outcome: not if the connection rather than the request may have failed. */
export const staysUsable = (outcome: Outcome): boolean =>
  outcome.kind === 'answer' ||
  (outcome.kind === 'refusal' && outcome.status > 400 && outcome.status < 500 && outcome.status !== 404);

/** Path of a redirect to the same origin that keeps the method; otherwise null. */
export function redirectedPath(outcome: Outcome, url: string): string | null {
  if (
    outcome.kind !== 'refusal' ||
    (outcome.status !== 307 && outcome.status !== 308) ||
    !URL.canParse(outcome.location, url)
  )
    return null;
  const { origin, pathname, search } = new URL(outcome.location, url);
  return origin === new URL(url).origin ? pathname + search : null;
}
