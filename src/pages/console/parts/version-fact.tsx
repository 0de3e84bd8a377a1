/** The version of an assistant that a session is on, as a fact about it. */
import type { Session } from '../types.ts';
import { versionPage } from './release.ts';

type OnVersion = Pick<Session, 'assistant_id' | 'assistant_version'>;

export const versionFact = ({ assistant_id: id, assistant_version: number }: OnVersion) =>
  ['Version', number === null ? 'draft, as a trial' : <a href={versionPage(id, number)}>{number}</a>] as const;

/** The version in a row of a list. */
export const versionWords = ({ assistant_version: number }: OnVersion): string =>
  number === null ? 'draft' : `version ${number}`;
