/** The metrics of calls (contract 18). */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface CallMetrics {
  readonly voiceToVoice: { observe(seconds: number): void };
  readonly interruptions: Counter<'kind'>;
  readonly heard: Counter<'basis'>;
}

const seconds = [0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1, 1.5, 2, 3, 5, 10];

export function openCallMetrics(registers: Registry[]): CallMetrics {
  const interruptions = new Counter({
    name: 'parley_call_interruptions_total',
    help: 'Replies of calls that were cut, by what cut them.',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of ['speech', 'client', 'api', 'lost', 'none']) interruptions.inc({ kind }, 0);
  const heard = new Counter({
    name: 'parley_call_heard_total',
    help: 'Replies of calls, by how it is known what was heard.',
    labelNames: ['basis'],
    registers,
  });
  for (const basis of ['played', 'estimated', 'sent']) heard.inc({ basis }, 0);
  return {
    interruptions,
    heard,
    voiceToVoice: new Histogram({
      name: 'parley_call_voice_to_voice_seconds',
      help: 'From the last voice of a person to the first audio of the reply.',
      buckets: seconds,
      registers,
    }),
  };
}

/** `count`: the calls of this process in each state. */
export function watchCalls(count: () => Readonly<Record<string, number>>, registers: Registry[]): void {
  const calls = new Gauge({
    name: 'parley_calls',
    help: 'Open calls, by state.',
    labelNames: ['state'],
    registers,
    collect: () => {
      for (const [state, open] of Object.entries(count())) calls.set({ state }, open);
    },
  });
}
