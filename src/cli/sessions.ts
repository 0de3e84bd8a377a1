/** `parley sessions` */
import { Option, type Command } from 'commander';
import { Parley } from '../client/parley.ts';
import type { List, Message, Session } from '../client/types.ts';
import { wholeNumber } from './arguments.ts';
import { addConnectionOptions, inWorkspace, operatorToken, serverUrl, type ConnectionOptions } from './connection.ts';
import { segment } from './console-client.ts';
import { addErase } from './erasing.ts';
import type { Io } from './io.ts';
import { addPageOptions, pageQuery, showPage, type ListView, type PageOptions } from './list.ts';
import { renderEvent, renderMessage } from './message-view.ts';
import { fields, note, oneLine, pairLines, print, time } from './output.ts';

interface ListOptions extends PageOptions {
  readonly assistant?: string;
  readonly status?: string;
}

interface Shown {
  readonly session: Session;
  readonly transcript: List<Message>;
}

export function registerSessions(program: Command, io: Io): void {
  const sessions = program.command('sessions').description('conversations and their transcripts');
  sessions.addHelpText('after', examples);
  addPageOptions(sessions.command('list').description('list the sessions, newest first'))
    .option('--assistant <id|name>', 'only of this assistant')
    .addOption(new Option('--status <status>', 'only in this state').choices(['open', 'ended', 'expired']))
    .action(list(io));
  addConnectionOptions(
    sessions
      .command('show')
      .description('show a session and its transcript; with --json as {"session", "transcript"}')
      .argument('<id>'),
  ).action(show(io));
  addConnectionOptions(
    sessions
      .command('follow')
      .description('print the messages and turns of a session as they happen, until it ends')
      .argument('<id>'),
  )
    .option(
      '--after <number>',
      'begin after this event; 0 for all events (default: from now on)',
      wholeNumber(0, 2 ** 53 - 1),
    )
    .action(follow(io));
  addErase(sessions, io, 'sessions', 'erase a session with all that it holds; this cannot be undone');
}

const examples = `
Examples:
  parley sessions list --assistant demo --status open
  parley sessions show ses_01jm3k4q8z9v5x7w2r6t0y1n3b
  parley sessions follow ses_01jm3k4q8z9v5x7w2r6t0y1n3b --after 0
  parley sessions erase ses_01jm3k4q8z9v5x7w2r6t0y1n3b`;

interface FollowOptions extends ConnectionOptions {
  readonly after?: number;
}

/** Follows over cuts of the connection: each event is a line, of JSON with `--json`. */
const follow =
  (io: Io) =>
  (id: string, options: FollowOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace }) => {
      const { body: session } = await client.get<Session>(`${workspace}/sessions/${segment(id)}`);
      if (options.after === undefined && !options.json) {
        const state = session.status === 'open' ? 'Waiting for its next event.' : `It has ${session.status}.`;
        note(io, `Session ${session.id}: ${state} Add --after 0 to print all events from the first.`);
      }
      const url = `${serverUrl(options, io.env)}/console/api${workspace}`;
      const parley = new Parley({ url, key: operatorToken(options, io.env) });
      const events = parley.sessions.events(id, { after: options.after ?? null });
      for await (const event of events)
        print(io, options.json ? JSON.stringify({ number: events.cursor, ...event }) : renderEvent(event));
    });

const list =
  (io: Io) =>
  (options: ListOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { client, workspace } = connection;
      const assistant_id = options.assistant && (await client.idOf(workspace, 'assistants', options.assistant));
      const query = { ...pageQuery(options), assistant_id, status: options.status };
      await showPage(connection, `${workspace}/sessions`, query, sessionList);
    });

const show =
  (io: Io) =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { client, workspace } = connection;
      const path = `${workspace}/sessions/${segment(id)}`;
      const session = await client.get<Session>(path);
      const messages: Message[] = [];
      for await (const message of client.all<Message>(`${path}/transcript`, { order: 'asc' })) messages.push(message);
      const transcript: List<Message> = { object: 'list', data: messages, has_more: false, next_cursor: null };
      const text = `{"session":${session.text.trim()},"transcript":${JSON.stringify(transcript)}}`;
      connection.show({ body: { session: session.body, transcript }, text }, renderOne);
    });

const sessionList: ListView<Session> = {
  empty: 'No sessions.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'ASSISTANT', cell: (session) => session.assistant_id },
    {
      title: 'STATUS',
      cell: ({ status, active_turn_id: turn }) => (turn === null ? status : `${status}, replying`),
    },
    { title: 'CHANNEL', cell: ({ channel }) => channel },
    { title: 'VISITOR', cell: ({ visitor }) => Object.values(visitor).join(' ') },
    { title: 'CREATED', cell: (session) => time(session.created_at) },
  ],
};

function renderOne({ session, transcript }: Shown): string {
  const head = fields([
    ['session', session.id],
    ['assistant', session.assistant_id],
    ['status', session.status],
    ['channel', session.channel],
    ['visitor', pairLines(session.visitor)],
    ...(session.visitor_id == null ? [] : [['verified', oneLine(session.visitor_id)] as const]),
    ['metadata', pairLines(session.metadata)],
    ['created', time(session.created_at)],
    ['expires', time(session.expires_at)],
    ['ended', time(session.ended_at)],
  ]);
  const messages = transcript.data.map(renderMessage);
  return [head, ...(messages.length === 0 ? ['No messages yet.'] : messages)].join('\n\n');
}
