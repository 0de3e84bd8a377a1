/** The release of an assistant as schemas. */
import { Type } from 'typebox';
import type { Candidate, CandidateCounts, HaltRule, Release, VersionCounts } from '../records.ts';
import { Count, Name, Nullable, Whole, type Fields } from './fields.ts';

export const ReleaseFields = () =>
  Type.Object({
    current: Count(),
    newest: Count(),
    digest: Name(),
    earlier: Type.Array(Count()),
    revision: Type.Optional(Whole()),
    candidate: Type.Optional(
      Nullable(
        Type.Object({
          version: Count(),
          digest: Name(),
          percent: Type.Integer({ minimum: 1, maximum: 99 }),
          halt: Nullable(Type.Object({ failedPercent: Whole(), afterTurns: Whole() } satisfies Fields<HaltRule>)),
          isHalted: Type.Boolean(),
          since: Whole(),
        } satisfies Fields<Candidate>),
      ),
    ),
    retired: Type.Optional(Type.Array(Count())),
    recalls: Type.Optional(Whole()),
  } satisfies Fields<Release>);

/** The counts of an assistant's versions. */
export const releaseRow = {
  workspaceId: Name(),
  assistantId: Name(),
  since: Whole(),
  candidate: Type.Object({ turns: Whole(), failedTurns: Whole() } satisfies Fields<CandidateCounts>),
  versions: Type.Array(
    Type.Object({
      number: Count(),
      sessions: Whole(),
      turns: Whole(),
      failedTurns: Whole(),
      feedbackUp: Whole(),
      feedbackDown: Whole(),
    } satisfies Fields<VersionCounts & { readonly number: number }>),
  ),
};
