/**
 * Sessions: the list, filtered by the query of the address. New ones are announced and move no row that is being read.
 */
import { useState } from 'preact/hooks';
import { dateOf } from '../clock.ts';
import { pageSize, useList } from '../data.ts';
import { may } from '../may.ts';
import { count, plural } from '../format.ts';
import { Choice, Input } from '../parts/field.tsx';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { useSessionNews } from '../parts/session-news.ts';
import { MomentText } from '../parts/time.tsx';
import { plainText, useTyped, type FieldText } from '../parts/typed.ts';
import { apiWorkspace, inWorkspace, search, setQuery } from '../route.ts';
import { assistantColumn } from '../parts/session-columns.tsx';
import { versionWords } from '../parts/version-fact.tsx';
import { Verified } from '../parts/verified.tsx';
import type { Assistant, Key, ListedSession } from '../types.ts';

const filters = ['status', 'assistant_id', 'channel', 'key_id', 'from', 'to', 'q'] as const;

export default function Sessions() {
  const asked = Object.fromEntries(filters.map((name) => [name, search.value.get(name) || null]));
  const [cleared, setCleared] = useState(0);
  const clear = () => {
    setQuery(Object.fromEntries(filters.map((name) => [name, null])));
    // A text that was typed just now is cleared too.
    setCleared((times) => times + 1);
  };
  const filtered = Object.values(asked).some((value) => value !== null);
  const path = `${apiWorkspace()}/sessions`;
  const list = useList<ListedSession>(path, { ...asked, first_words: 'true' }, true);
  const lacking = useSessionNews(list, path, asked);
  const assistants = useList<Assistant>(`${apiWorkspace()}/assistants`).items;
  const keys = useList<Key>(may('keys.read') ? `${apiWorkspace()}/keys` : null).items;
  const nameOf = (id: string): string => assistants.find((one) => one.id === id)?.name ?? id;
  const columns: readonly Column<ListedSession>[] = [
    {
      name: 'Conversation',
      width: 'minmax(0, 2fr)',
      cell: (session) => <Conversation session={session} assistant={nameOf(session.assistant_id)} />,
    },
    {
      name: 'State',
      width: '104px',
      cell: ({ status, active_turn_id: turn }) =>
        State({ name: turn === null ? status : 'streaming', tone: turn === null ? 'plain' : 'lit' }),
    },
    assistantColumn(nameOf),
    {
      name: 'Visitor',
      width: 'minmax(0, 1.2fr)',
      wide: true,
      cell: ({ visitor, visitor_verified: isVerified }) => (
        <span class="soft">
          {isVerified && <Verified />}
          {isVerified && ' '}
          {Object.values(visitor).map(String).join(', ') || (isVerified ? '' : '–')}
        </span>
      ),
    },
    {
      name: 'Channel',
      width: '72px',
      wide: true,
      cell: ({ channel }) => <span class="soft">{channel === 'api' ? 'API' : channel}</span>,
    },
    { name: 'Opened', width: '136px', numeric: true, wide: true, cell: ({ created_at: at }) => MomentText({ at }) },
    {
      name: 'Id',
      width: '144px',
      wide: true,
      cell: ({ id }) => (
        <code class="soft" title={id}>
          {id}
        </code>
      ),
    },
  ];
  const empty = filtered ? (
    <Empty
      name="No session matches"
      first={
        <button type="button" onClick={clear}>
          Clear the filters
        </button>
      }
    >
      Sessions exist only with what is asked for above.
    </Empty>
  ) : (
    <Empty name="No sessions yet" command={'npx parley chat'}>
      Each conversation stands here with its transcript, from its first message on. Hold one from a terminal, over the
      API with a key, or try an assistant on its page.
    </Empty>
  );
  return (
    <>
      <Head name="Sessions">
        {list.total !== undefined && <span class="note">{totalText(list.total, filtered)}</span>}
      </Head>
      <Filters key={cleared} asked={asked} assistants={assistants} keys={keys} />
      <News lacking={lacking} again={list.again} />
      <Rows label="Sessions" columns={columns} list={list} empty={empty} depends={assistants} />
    </>
  );
}

/** The most that the server counts. */
const countedMax = 1000;

function totalText(total: number | null, filtered: boolean): string {
  if (total === null) return `More than ${count(countedMax)} sessions${filtered ? ' match' : ''}`;
  return `${plural(total, 'session')}${!filtered ? '' : total === 1 ? ' matches' : ' match'}`;
}

/** The first words, which lead to the session; on a phone with when it began and its assistant. */
const Conversation = ({ session, assistant }: { session: ListedSession; assistant: string }) => (
  <>
    <a href={inWorkspace('sessions', session.id)} title={session.id} class={session.first_words ? undefined : 'unsaid'}>
      {session.first_words || 'Nothing was said yet'}
    </a>
    <small>
      <MomentText at={session.created_at} /> · {assistant}, {versionWords(session)}
    </small>
  </>
);

/** The latest second that a filter takes. */
const secondMax = 9_999_999_999;

const timeText: FieldText = {
  textOf: (value) => dateOf(value === null ? null : Number(value)),
  valueOf(text) {
    if (text === '') return null;
    // A year that is being typed passes through values such as 0002.
    const seconds = Math.floor(Date.parse(text) / 1000);
    return seconds >= 0 && seconds <= secondMax ? String(seconds) : undefined;
  },
};

interface FilterOptions {
  readonly asked: Readonly<Record<string, string | null>>;
  readonly assistants: readonly Assistant[];
  readonly keys: readonly Key[];
}

function Filters({ asked, assistants, keys }: FilterOptions) {
  const words = useTyped('q', asked['q'] ?? null, plainText);
  const [from, to] = [useTyped('from', asked['from'] ?? null, timeText), useTyped('to', asked['to'] ?? null, timeText)];
  const choice = (name: string) => ({
    value: asked[name] ?? '',
    onValue: (value: string) => setQuery({ [name]: value || null }),
  });
  const more = asked['key_id'] !== null || asked['channel'] !== null || asked['from'] !== null || asked['to'] !== null;
  return (
    <div class="stack-wide">
      <div class="filters" role="search" aria-label="Filter sessions">
        <div class="grow">
          <Input label="ID or visitor prefix" type="search" {...words} autocomplete="off" spellcheck={false} />
        </div>
        <Choice
          label="State"
          {...choice('status')}
          choices={[
            ['', 'Any'],
            ['open', 'open'],
            ['ended', 'ended'],
            ['expired', 'expired'],
          ]}
        />
        <Choice
          label="Assistant"
          {...choice('assistant_id')}
          choices={[['', 'Any'], ...assistants.map(({ id, name }) => [id, name] as const)]}
        />
      </div>
      <details open={more}>
        <summary>More filters</summary>
        <div class="filters">
          <Choice
            label="Channel"
            {...choice('channel')}
            choices={[
              ['', 'Any'],
              ['api', 'API'],
              ['link', 'link'],
              ['widget', 'widget'],
              ['console', 'console (trials)'],
              ['test', 'tests'],
            ]}
          />
          <Choice
            label="Key"
            {...choice('key_id')}
            choices={[['', 'Any'], ...keys.map(({ id, name }) => [id, name] as const)]}
          />
          <Input label="Opened after" type="datetime-local" {...from} />
          <Input label="Opened before" type="datetime-local" {...to} />
        </div>
      </details>
    </div>
  );
}

/** Announces sessions that the list lacks. */
const News = ({ lacking, again }: { lacking: number; again: () => void }) => (
  <p role="status" class="news">
    {lacking > 0 && (
      <button type="button" onClick={again}>
        Show {lacking === pageSize ? `${pageSize} or more new sessions` : plural(lacking, 'new session')}
      </button>
    )}
  </p>
);
