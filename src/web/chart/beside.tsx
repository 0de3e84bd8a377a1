/** A session's chart, live, for beside a talk. */
import { ActorChart, momentOf } from './actor-view.tsx';
import { usePast } from './past-of.ts';

/** Without an id, the chart as it stands before there is a session. */
export function ChartBeside({ id }: { id: string | null }) {
  const past = usePast('session', id);
  const found = momentOf('session', past, null, { expiresAt: null, endedAt: null }, 'open');
  const moment = id === null ? { ...found, state: null } : found;
  return (
    <div class="beside">
      <ActorChart kind="session" past={past} moment={moment} />
    </div>
  );
}
