/** The experiments of the desk (D1 to D4) with programs that are changed on purpose: each fault is found. */
import t from 'tap';
import { changedProgram, type Change } from '../secrets/changed-program.ts';
import { takenCalls } from './d-calls.ts';
import { deskExperiments } from './d-desk.ts';
import type { Experiment } from './experiment.ts';
import { findsFault } from './planted.ts';

/** Repetitions within which a fault must have been found. */
const timesMax = 12;

interface Fault {
  readonly change: Change;
  readonly also?: Change;
  /** The violation that it leads to. */
  readonly wrong: RegExp;
  readonly firstSeed?: number;
}

const speaks: Pick<Fault, 'change' | 'also'> = {
  change: [/if \(taken\w* && activeTurnId\w* !== null\)(\s+step\w*\.silences = )/, 'if (false)$1'],
  also: [/silencedTurnId: event\w*\.turnId/, 'silencedTurnId: null'],
};

const faults: Readonly<Record<string, Fault>> = {
  '[D1] a take that lets a turn in flight write and call': {
    ...speaks,
    wrong: /grew after the take|left after the take/,
    firstSeed: 3,
  },
  '[D2] a message that the assistant answers though a person has the session': {
    change: [
      /(attendance\w*)\.state === "assistant"( && chat\w*\.isHandedOver)/,
      '($1.state === "assistant" || $1.state === "person")$2',
    ],
    wrong: /comes while a person has the session/,
  },
  '[D2] a message that is accepted and not stored': {
    change: [
      /(draft\w*\.put\(\w+\(workspaceId, \w+, first \+ \w+\), (message\w*), "message"\))/,
      '$2.role === "user" || $1',
    ],
    wrong: /is in the transcript 0 times/,
  },
  '[D2] a message that is accepted again under its key': {
    change: [
      /if \(remember !== null\) (memories\w*\.put\(draft\w*, workspaceId, remember\);\s+putSession\(draft\w*, before\w*, \{ \.\.\.before)/,
      'if (false) $1',
    ],
    wrong: /is in the transcript \d times/,
  },
  "[D3] a person's message that the model is not sent": {
    change: [/(if \(role\w* === "person"\) return )\[/, '$1true ? [] : ['],
    wrong: /the model was not sent/,
    firstSeed: 7,
  },
  '[D4] a note without a number': {
    change: [/(\.eventCount = eventCountOf\(before\w*\) \+ )events\w*/, '$1 1'],
    wrong: /the numbers are|is read as/,
  },
  '[D4] an event that comes again to a reader who resumes': {
    change: [/(if \(shown\w* >)( this\.#position\))/, '$1=$2'],
    wrong: /the numbers are/,
  },
};

const ofCalls: Readonly<Record<string, Fault>> = {
  '[D1] a take that lets the turn in flight speak': {
    ...speaks,
    wrong: /grew after the take|before the take|after the take/,
  },
  '[D2] spoken words that nobody answers are refused': {
    change: [/if \((chat\w*)\.isEarly\) throw/, 'if ($1.isEarly !== void 0) throw'],
    wrong: /in the transcript 0 times|a failure/,
    firstSeed: 3,
  },
};

const experiments: readonly (readonly [Readonly<Record<string, Fault>>, (command: string) => Experiment])[] = [
  [faults, (command) => deskExperiments({ command })[0]!],
  [ofCalls, (command) => takenCalls({ command })],
];

t.jobs = 2;
for (const [what, { change, also, wrong, firstSeed }, changedBy] of experiments.flatMap(([some, changedBy]) =>
  Object.entries(some).map(([what, fault]) => [what, fault, changedBy] as const),
))
  t.test(`${what} is found`, async (t) => {
    const changed = changedBy(await changedProgram(t, change, ...(also === undefined ? [] : [also])));
    await findsFault(t, changed, wrong, { timesMax, firstSeed });
  });
