/** Begins a run of tests, or a replay of stored conversations. */
import { useEffect, useState } from 'preact/hooks';
import { ask, query } from '../api.ts';
import { dateOf, seconds } from '../clock.ts';
import { useList } from '../data.ts';
import { apiWorkspace, go } from '../route.ts';
import type { Assistant, List, Session, Version } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { Choice, Input } from './field.tsx';
import { FormEnd, useSubmit } from './submit.tsx';
import { runPage, startRun } from './use-tests.ts';

interface Options {
  readonly assistant: Assistant;
  readonly path: string;
  readonly close: () => void;
}

const versionOf = (text: string): number | 'draft' => (text === 'draft' ? 'draft' : Number(text));

/** The draft and the versions, as choices. */
function useVersionChoices(path: string): readonly (readonly [string, string])[] {
  const versions = useList<Version>(`${path}/versions`).items;
  return [
    ['draft', 'Draft'],
    ...versions.map(
      ({ number, state }) => [String(number), `Version ${number}${state === 'retired' ? '' : `, ${state}`}`] as const,
    ),
  ];
}

/** Runs all tests, by default on the draft. */
export function RunDialog({ assistant: { id }, path, close }: Options) {
  const choices = useVersionChoices(path);
  const [version, setVersion] = useState('draft');
  const [repeat, setRepeat] = useState('');
  const sending = useSubmit(async () => {
    const repeats = repeat.trim() === '' ? {} : { repeat: Number(repeat) };
    const run = await startRun(path, { version: versionOf(version), ...repeats });
    go(runPage(id, run.id));
  });
  return (
    <Dialog name="Run all tests" close={close}>
      <form onSubmit={sending.submit}>
        <Choice label="On" path="version" value={version} onValue={setVersion} choices={choices} />
        <Input
          label="Repetitions of each test"
          path="repeat"
          type="number"
          min={1}
          max={10}
          value={repeat}
          onValue={setRepeat}
          note="Empty: as each test says."
          failure={sending.failure}
        />
        <p class="note">No tool is called, no webhook is sent, and no usage is counted. The model is asked for real.</p>
        <FormEnd sending={sending} act="Run" cancel={close} />
      </form>
    </Dialog>
  );
}

/** The channels and states of the sessions that a replay takes. */
const channels = ['api', 'link', 'widget'] as const;
const statuses = ['ended', 'expired'] as const;
const replayMax = 200;

/** Plays the newest stored conversations on the draft or a version. */
export function ReplayDialog({ assistant: { id }, path, close }: Options) {
  const choices = useVersionChoices(path);
  const [version, setVersion] = useState('draft');
  const [sessions, setSessions] = useState('50');
  const recent = useSinceYesterday(id);
  const sending = useSubmit(async () => {
    const run = await startRun(path, { version: versionOf(version), replay: { sessions: Number(sessions) } });
    go(runPage(id, run.id));
  });
  return (
    <Dialog name="Replay conversations" close={close}>
      <form onSubmit={sending.submit}>
        <p>
          Sends the messages of stored conversations again, and shows both replies side by side, the differences first.
        </p>
        <Choice label="On" path="version" value={version} onValue={setVersion} choices={choices} />
        <Input
          label="Conversations"
          path="replay.sessions"
          type="number"
          min={1}
          max={replayMax}
          required
          value={sessions}
          onValue={setSessions}
          note="The newest that have ended or expired, of API, link and widget; 200 at most."
          failure={sending.failure}
        />
        {recent !== null && recent > 0 && (
          <p>
            <button type="button" onClick={() => setSessions(String(Math.min(recent, replayMax)))}>
              Since yesterday: {Math.min(recent, replayMax)}
            </button>
          </p>
        )}
        <p class="note">
          Calls get the outputs that were recorded; no tool is called and no usage is counted. The model is asked for
          real.
        </p>
        <FormEnd sending={sending} act="Replay" cancel={close} />
      </form>
    </Dialog>
  );
}

/** The number of conversations that began since yesterday and can be replayed; null until it is known. */
function useSinceYesterday(assistant: string): number | null {
  const [sum, setSum] = useState<number | null>(null);
  useEffect(() => {
    const leave = new AbortController();
    const counted = async (channel: string, status: string): Promise<number> => {
      const fields = {
        assistant_id: assistant,
        channel,
        status,
        from: startOfYesterday(),
        limit: 1,
        total: 'true',
      };
      const { total } = await ask<List<Session>>(`${apiWorkspace()}/sessions${query(fields)}`, {
        signal: leave.signal,
      });
      return total ?? replayMax;
    };
    // The number can be typed all the same.
    Promise.all(channels.flatMap((channel) => statuses.map((status) => counted(channel, status)))).then(
      (counts) => setSum(counts.reduce((one, other) => one + other, 0)),
      () => {},
    );
    return () => leave.abort();
  }, [assistant]);
  return sum;
}

/** Unix seconds of yesterday's local midnight. */
function startOfYesterday(): number {
  const midnight = new Date(`${dateOf(seconds()).slice(0, 10)}T00:00`);
  midnight.setDate(midnight.getDate() - 1);
  return Math.floor(midnight.getTime() / 1000);
}
