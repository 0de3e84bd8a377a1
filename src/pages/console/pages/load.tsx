/**
 * Load: the last hour of the whole installation in steps of five seconds, there when the page opens and read on while
 * it is looked at.
 */
import { useEffect, useState } from 'preact/hooks';
import { repeatedly } from '../clock.ts';
import { refresh, useRead } from '../data.ts';
import { bytes, count, timeOfDay } from '../format.ts';
import { Failure } from '../parts/failure.tsx';
import { Choice } from '../parts/field.tsx';
import { Head } from '../parts/head.tsx';
import { Plot, wholeSteps, type Line } from '../parts/plot.tsx';
import { Wait } from '../parts/wait.tsx';
import type { Load, LoadStep } from '../types.ts';

const path = '/load';

interface Shown {
  readonly name: string;
  readonly unit?: string;
  readonly lines: readonly {
    readonly label: string;
    readonly of: (step: LoadStep) => number | null;
    readonly tone: Line['tone'];
  }[];
  readonly format: (value: number) => string;
  readonly steps?: readonly number[];
}

const rate = (value: number | null, step: number): number | null => (value === null ? null : value / step);
const small = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const tiny = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const perSecond = (value: number): string => (value < 1 ? tiny : small).format(value);
const milliseconds = (value: number): string => `${perSecond(value)} ms`;
const powersOfTwo = Array.from({ length: 30 }, (_, index) => 2 ** (10 + index));

const shown = (step: number): readonly Shown[] => [
  {
    name: 'Requests a second',
    format: perSecond,
    lines: [
      { label: 'Answered', of: ({ requests }) => rate(requests, step), tone: 'accent' },
      { label: 'Refused', of: ({ refused }) => rate(refused, step), tone: 'red' },
    ],
  },
  {
    name: 'Turns in flight',
    format: count,
    steps: wholeSteps,
    lines: [{ label: 'Turns', of: ({ turns_in_flight: turns }) => turns, tone: 'accent' }],
  },
  {
    name: 'First output',
    format: milliseconds,
    lines: [
      { label: 'p50', of: ({ first_output_p50_ms: value }) => value, tone: 'accent' },
      { label: 'p99', of: ({ first_output_p99_ms: value }) => value, tone: 'soft' },
    ],
  },
  {
    name: 'Open calls',
    format: count,
    steps: wholeSteps,
    lines: [{ label: 'Calls', of: ({ open_calls: calls }) => calls, tone: 'accent' }],
  },
  {
    name: 'Voice to voice',
    format: milliseconds,
    lines: [
      { label: 'p50', of: ({ voice_to_voice_p50_ms: value }) => value, tone: 'accent' },
      { label: 'p99', of: ({ voice_to_voice_p99_ms: value }) => value, tone: 'soft' },
    ],
  },
  {
    name: 'Streamed events a second',
    format: perSecond,
    lines: [{ label: 'Events', of: ({ events }) => rate(events, step), tone: 'accent' }],
  },
  {
    name: 'Event loop lag',
    format: milliseconds,
    lines: [{ label: 'Lag', of: ({ loop_lag_ms: value }) => value, tone: 'accent' }],
  },
  {
    name: 'Store',
    format: milliseconds,
    lines: [{ label: 'A step', of: ({ store_ms: value }) => value, tone: 'accent' }],
  },
  {
    name: 'Memory',
    format: bytes,
    steps: powersOfTwo,
    lines: [{ label: 'All processes', of: ({ memory_bytes: value }) => value, tone: 'accent' }],
  },
];

export default function LoadPage() {
  const { value: load, failure } = useRead<Load>(path);
  const [minutes, setMinutes] = useState('60');
  useEffect(() => repeatedly(5000, () => refresh(path)), []);
  return (
    <>
      <Head name="Load">
        <Choice
          label="Time"
          value={minutes}
          onValue={setMinutes}
          choices={[
            ['60', 'The last hour'],
            ['15', 'The last 15 minutes'],
            ['5', 'The last 5 minutes'],
          ]}
        />
      </Head>
      <Failure failure={failure} again={() => void refresh(path)} />
      {load === undefined ? failure === null && <Wait /> : <Drawn load={load} minutes={Number(minutes)} />}
    </>
  );
}

function Drawn({ load: { data, step_seconds: step }, minutes }: { load: Load; minutes: number }) {
  const wanted = data.slice(-Math.ceil((minutes * 60) / step));
  // If the server started within the window, the steps since its start.
  const steps = wanted.slice(
    Math.max(
      0,
      wanted.findIndex(({ memory_bytes: memory }) => memory !== null),
    ),
  );
  const times = steps.map(({ start }) => start);
  const plots = shown(step);
  if (steps.length === 0) return <p class="note">The first step is counted five seconds after the start.</p>;
  return (
    <>
      <div class="plots">
        {plots.map(({ name, format, steps: between, lines }) => (
          <Plot
            key={name}
            name={name}
            times={times}
            format={format}
            {...(between && { steps: between })}
            lines={lines.map(({ label, of, tone }) => ({ label, tone, values: steps.map(of) }))}
          />
        ))}
      </div>
      <section class="section" aria-label="Table">
        <details>
          <summary>The same by the minute</summary>
          <ByMinute steps={steps} plots={plots} step={step} />
        </details>
      </section>
    </>
  );
}

/** The worst of each minute. */
function ByMinute({ steps, plots, step }: { steps: readonly LoadStep[]; plots: readonly Shown[]; step: number }) {
  const each = Math.max(1, Math.round(60 / step));
  const groups = Array.from({ length: Math.ceil(steps.length / each) }, (_, index) =>
    steps.slice(index * each, (index + 1) * each),
  ).toReversed();
  const columns = plots.flatMap(({ name, lines, format }) =>
    lines.map(({ label, of }) => ({ name: lines.length > 1 ? `${name}: ${label}` : name, of, format })),
  );
  const most = (group: readonly LoadStep[], of: (one: LoadStep) => number | null): number | null =>
    group
      .map(of)
      .reduce((held, value) => (value === null ? held : Math.max(held ?? value, value)), null as number | null);
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Load by the minute, the highest of each">
      <table>
        <thead>
          <tr>
            <th scope="col">From</th>
            {columns.map(({ name }) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group[0]!.start}>
              <th scope="row">{timeOfDay(group[0]!.start * 1000)}</th>
              {columns.map(({ name, of, format }) => {
                const value = most(group, of);
                return <td key={name}>{value === null ? '–' : format(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
