/** Usage: drawn by day or hour, for all or for one assistant or key, with its table and as CSV. */
import { query } from '../api.ts';
import { seconds } from '../clock.ts';
import { refresh, useList, useRead } from '../data.ts';
import { may } from '../may.ts';
import { count, date, moment } from '../format.ts';
import { Empty } from '../parts/empty.tsx';
import { Failure } from '../parts/failure.tsx';
import { Choice } from '../parts/field.tsx';
import { Facts, Head } from '../parts/head.tsx';
import { Plot, wholeSteps } from '../parts/plot.tsx';
import { Wait } from '../parts/wait.tsx';
import { apiWorkspace, search, setQuery } from '../route.ts';
import type { Assistant, Key, Usage } from '../types.ts';
import { useState } from 'preact/hooks';

const spans = [
  ['1', '24 hours'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;

const columns = [
  ['turns', 'Turns'],
  ['failed_turns', 'Failed'],
  ['sessions', 'Sessions'],
  ['input_tokens', 'Input tokens'],
  ['output_tokens', 'Output tokens'],
  ['speech_characters', 'Spoken characters'],
  ['transcription_seconds', 'Transcribed seconds'],
  ['tool_calls', 'Calls of tools'],
  ['cached_input_tokens', 'Cached input tokens'],
  ['feedback_up', 'Rated up'],
  ['feedback_down', 'Rated down'],
  ['handovers', 'Taken by people'],
  ['person_messages', 'Messages of people'],
] as const;

export default function UsagePage() {
  const span = search.value.get('days') ?? '30';
  const bucket = search.value.get('bucket') ?? (Number(span) <= 7 ? 'hour' : 'day');
  const fields = { assistant_id: search.value.get('assistant_id'), key_id: search.value.get('key_id') };
  // The window stands still while one looks at it.
  const [end] = useState(seconds);
  const asked = query({ start: end - Number(span) * 86_400, end, bucket, ...fields });
  const path = `${apiWorkspace()}/usage`;
  const { value: usage, failure } = useRead<Usage>(path + asked);
  const assistants = useList<Assistant>(`${apiWorkspace()}/assistants`).items;
  const keys = useList<Key>(may('keys.read') ? `${apiWorkspace()}/keys` : null).items;
  const csv = `/console/api${path}${asked}&format=csv`;
  return (
    <>
      <Head name="Usage">
        <a class="button" href={csv} download={`usage-${bucket}.csv`}>
          CSV
        </a>
      </Head>
      <div class="filters" role="search" aria-label="Filter usage">
        <Choice label="Time" value={span} onValue={(days) => setQuery({ days, bucket: null })} choices={spans} />
        <Choice
          label="Interval"
          value={bucket}
          onValue={(value) => setQuery({ bucket: value })}
          choices={[
            ['day', 'day'],
            ['hour', 'hour'],
          ]}
        />
        <Choice
          label="Assistant"
          value={fields.assistant_id ?? ''}
          onValue={(value) => setQuery({ assistant_id: value || null })}
          choices={[['', 'All'], ...assistants.map(({ id, name }) => [id, name] as const)]}
        />
        <Choice
          label="Key"
          value={fields.key_id ?? ''}
          onValue={(value) => setQuery({ key_id: value || null })}
          choices={[['', 'All'], ...keys.map(({ id, name }) => [id, name] as const)]}
        />
      </div>
      <Failure failure={failure} again={() => void refresh(path + asked)} />
      {usage === undefined ? failure === null && <Wait /> : <Drawn usage={usage} />}
    </>
  );
}

function Drawn({ usage: { data, totals, bucket } }: { usage: Usage }) {
  if (totals.turns + totals.sessions + totals.speech_characters + totals.transcription_seconds === 0) {
    return (
      <Empty name="Nothing was used in this time" command={'npx parley chat'}>
        Sessions, turns, tokens and seconds of voice are counted here from the first turn on. Trials are not counted.
      </Empty>
    );
  }
  const times = data.map(({ start }) => start);
  const of = (name: (typeof columns)[number][0]) => data.map((one) => one[name]);
  const rows = data.filter((one) => columns.some(([name]) => one[name] > 0)).toReversed();
  const nameOf = (start: number) => (bucket === 'day' ? date(start) : moment(start, seconds()));
  return (
    <>
      <Facts of={columns.map(([name, label]) => [label, count(totals[name])] as const)} />
      <div class="plots">
        <Plot
          name="Turns"
          times={times}
          bars
          quiet
          format={count}
          steps={wholeSteps}
          lines={[
            { label: 'All', values: of('turns'), tone: 'accent' },
            { label: 'Failed', values: of('failed_turns'), tone: 'red' },
          ]}
        />
        <Plot
          name="Output tokens"
          times={times}
          bars
          quiet
          format={short}
          steps={wholeSteps}
          lines={[{ label: 'Output', values: of('output_tokens'), tone: 'accent' }]}
        />
      </div>
      {rows.length === 1 ? (
        <p class="note">
          All of it was used {bucket === 'day' ? 'on' : 'in the hour from'} {nameOf(rows[0]!.start)}.
        </p>
      ) : (
        <section class="section" aria-label="Table">
          <h2>By {bucket}</h2>
          <div class="table" tabIndex={0} role="region" aria-label={`Usage by ${bucket}`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{bucket === 'day' ? 'Day (UTC)' : 'Hour'}</th>
                  {columns.map(([name, label]) => (
                    <th scope="col" key={name}>
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((one) => (
                  <tr key={one.start}>
                    <th scope="row">{nameOf(one.start)}</th>
                    {columns.map(([name]) => (
                      <td key={name}>{count(one[name])}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
    </>
  );
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' });
const short = (value: number): string => compact.format(value);
