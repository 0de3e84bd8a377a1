import type { ReleaseContext, ReleaseEvent } from '../../machines/release.ts';
import type { Row } from './machine.ts';

const none: ReleaseContext = { current: null, candidate: null };
const two: ReleaseContext = { current: 2, candidate: null };
const rolling: ReleaseContext = { current: 2, candidate: 3 };

const refused = (code: string) => ({ type: 'refused', code });
const unchanged = { type: 'unchanged' };
const released = (version: number) => ({ type: 'released', version });
const retired = { type: 'retired', version: 3 };
const halted = { type: 'halted', version: 3 };
const started = (version: number) => ({ type: 'started', version });

type ReleaseRow = Row<ReleaseContext, ReleaseEvent>;

const row = (
  from: string,
  context: ReleaseContext,
  event: ReleaseEvent,
  to: string,
  outcomes: ReleaseRow['outcomes'],
  changes: Partial<ReleaseContext> = {},
): ReleaseRow => ({ from, context, event, to, outcomes, changes });

/** A publication, and a rollback: both make a version current. */
const versions = (from: string, context: ReleaseContext, to: string) =>
  (['publish', 'rollback'] as const).map(
    (type) =>
      (version: number, outcomes: ReleaseRow['outcomes'], changes: Partial<ReleaseContext> = {}): ReleaseRow =>
        row(from, context, { type, version }, to, outcomes, changes),
  );

export const releaseRows: ReleaseRow[] = [
  row('unpublished', none, { type: 'publish', version: 1 }, 'released', [released(1)], { current: 1 }),
  row('unpublished', none, { type: 'rollback', version: 1 }, 'unpublished', [refused('version_not_found')]),
  row('unpublished', none, { type: 'rollout', version: 1 }, 'unpublished', [refused('version_not_found')]),
  row('unpublished', none, { type: 'promote' }, 'unpublished', [refused('version_not_found')]),
  row('unpublished', none, { type: 'end' }, 'unpublished', [refused('version_not_found')]),
  row('unpublished', none, { type: 'recall' }, 'unpublished', [refused('version_not_found')]),
  row('unpublished', none, { type: 'halt' }, 'unpublished', [unchanged]),

  ...versions('released', two, 'released').flatMap((to) => [
    to(2, [unchanged]),
    to(3, [released(3)], { current: 3 }),
    to(1, [released(1)], { current: 1 }),
  ]),
  row('released', two, { type: 'rollout', version: 2 }, 'released', [refused('invalid_request')]),
  row('released', two, { type: 'rollout', version: 3 }, 'rolling', [started(3)], { candidate: 3 }),
  row('released', two, { type: 'promote' }, 'released', [refused('version_not_found')]),
  row('released', two, { type: 'end' }, 'released', [refused('version_not_found')]),
  row('released', two, { type: 'recall' }, 'released', [{ type: 'recalled' }]),
  row('released', two, { type: 'halt' }, 'released', [unchanged]),

  ...['rolling', 'halted'].flatMap((state) => [
    ...versions(state, rolling, 'released').flatMap((to) => [
      to(2, [retired], { candidate: null }),
      to(3, [released(3)], { current: 3, candidate: null }),
      to(4, [retired, released(4)], { current: 4, candidate: null }),
    ]),
    row(state, rolling, { type: 'rollout', version: 2 }, state, [refused('invalid_request')]),
    row(state, rolling, { type: 'rollout', version: 4 }, 'rolling', [retired, started(4)], { candidate: 4 }),
    row(state, rolling, { type: 'promote' }, 'released', [released(3)], { current: 3, candidate: null }),
    row(state, rolling, { type: 'end' }, 'released', [retired], { candidate: null }),
    row(state, rolling, { type: 'recall' }, state, [{ type: 'recalled' }]),
  ]),
  row('rolling', rolling, { type: 'rollout', version: 3 }, 'rolling', [{ type: 'adjusted' }]),
  row('halted', rolling, { type: 'rollout', version: 3 }, 'rolling', [started(3)]),
  row('rolling', rolling, { type: 'halt' }, 'halted', [halted]),
  row('halted', rolling, { type: 'halt' }, 'halted', [unchanged]),
];
