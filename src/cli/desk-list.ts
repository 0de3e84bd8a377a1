/** `parley desk list`: printed once, or in a terminal drawn again and again until Ctrl-C. */
import { pause, realClock } from '../client/clock.ts';
import type { List, Message, Session } from '../client/types.ts';
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { firstLine } from '../base/text.ts';
import { inWorkspace, type ConnectionOptions, type ConsoleConnection } from './connection.ts';
import { failureLine } from './exit.ts';
import type { Io } from './io.ts';
import { listText, type ListView } from './list.ts';
import { printable } from './output.ts';

export interface DeskSession extends Session {
  readonly reason: string | null;
  readonly last_message: Message | null;
}

/** Milliseconds between two readings of the list. */
const rereadMs = 2000;
/** Rows of a terminal that are not sessions: titles, the note below them, and the row of the cursor. */
const otherRows = 6;
const aboutCharacters = 60;

export const listDesk = (io: Io, options: ConnectionOptions): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    const names = new Map<string, string>();
    const isLive = io.stdout.isTTY === true && !options.json;
    const rows = isLive && io.stdout.rows !== undefined ? Math.max(1, io.stdout.rows - otherRows) : limits.listMax;
    const read = async () => {
      const answer = await connection.client.get<List<DeskSession>>(`${connection.workspace}/desk`, {
        limit: Math.min(rows, limits.listMax),
      });
      await learnNames(connection, names, answer.body.data);
      return answer;
    };
    const render = (list: List<DeskSession>): string =>
      listText(list, deskList(names, secondsOf(connection.clock.now())));
    if (isLive) await follow(io, async () => render((await read()).body));
    else connection.show(await read(), render);
  });

/** Reads the names of the assistants again if one of a session is not among them. */
async function learnNames(
  { client, workspace }: ConsoleConnection,
  names: Map<string, string>,
  sessions: readonly DeskSession[],
): Promise<void> {
  if (sessions.every(({ assistant_id: id }) => names.has(id))) return;
  for await (const { id, name } of client.all<{ id: string; name: string }>(`${workspace}/assistants`))
    names.set(id, name);
  for (const { assistant_id: id } of sessions) if (!names.has(id)) names.set(id, id);
}

const deskList = (names: ReadonlyMap<string, string>, nowSeconds: number): ListView<DeskSession> => ({
  empty: 'Nobody waits for a person, and no person has a conversation.',
  columns: [
    { title: 'SESSION', cell: ({ id }) => id },
    {
      title: 'STATE',
      cell: ({ attendance: { person, state } }) => (person === null ? state : `with ${person.name}`),
    },
    { title: 'FOR', right: true, cell: ({ attendance }) => span(nowSeconds - attendance.since) },
    { title: 'ASSISTANT', cell: (session) => names.get(session.assistant_id) },
    { title: 'VISITOR', cell: ({ visitor }) => firstLine(Object.values(visitor).join(' '), aboutCharacters) },
    {
      title: 'ABOUT',
      cell: ({ reason, last_message: last }) => firstLine(reason ?? last?.content ?? '', aboutCharacters),
    },
  ],
});

/** A time that has passed, as `45 s`, `12 min` or `2 h 5 min`. */
export function span(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${Math.max(0, seconds)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Draws on the terminal's other screen, so that what was on it before comes back. */
async function follow(io: Io, read: () => Promise<string>): Promise<void> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  let list = await read();
  io.on('SIGINT', leave);
  io.on('SIGTERM', leave);
  io.stdout.write('\u001b[?1049h');
  try {
    for (let trouble = ''; !left.signal.aborted;) {
      draw(io, `${list}\n\n${trouble}Ctrl-C leaves. To answer: parley desk take SESSION`);
      await pause(realClock, rereadMs, left.signal).catch(() => {});
      if (left.signal.aborted) break;
      try {
        list = await read();
        trouble = '';
      } catch (error) {
        trouble = `${failureLine(error)}\n`;
      }
    }
  } finally {
    io.stdout.write('\u001b[?1049l');
    io.off('SIGINT', leave);
    io.off('SIGTERM', leave);
  }
}

/** Cuts the lines to the terminal's width: a line that wraps would push others out of sight. */
function draw({ stdout }: Io, text: string): void {
  const lines = printable(text)
    .split('\n')
    .map((line) => (stdout.columns ? line.slice(0, stdout.columns) : line));
  stdout.write(`\u001b[H\u001b[J${lines.join('\n')}\n`);
}
