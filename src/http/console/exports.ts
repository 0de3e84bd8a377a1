/**
 * Exports of the console: a transcript in Markdown, usage as CSV. Both are generated with backpressure, as the client
 * reads them.
 */
import { readMessages } from '../../conversation/messages.ts';
import { readSession } from '../../conversation/access-checks.ts';
import { replyFlowing } from '../handlers/flowing.ts';
import { writePage, type WrittenPage } from '../handlers/lists.ts';
import { none, partsOf, secondsIn, type UsageOf, type UsageWindow } from '../handlers/usage.ts';
import { limits } from '../../base/limits.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Message, PageRequest, Session } from '../../store/store.ts';
import { indexAfter } from '../../base/text.ts';
import { messageView, usageCountsView } from '../../conversation/views.ts';

export const markdownType = 'text/markdown';
export const csvType = 'text/csv';

/** The whole transcript, oldest first. One page of it is held at a time, or one long message. */
export const transcriptMarkdown = (session: Session, services: Services): Promise<Reply> =>
  replyFlowing(sectionsOf(session, services), { 'content-type': `${markdownType}; charset=utf-8` });

async function* sectionsOf(session: Session, services: Services): AsyncGenerator<string, void> {
  const { id, workspaceId, assistantId, channel, createdAt } = session;
  let before = `# Session ${id}\n\nBegun ${timeOf(createdAt)} with the assistant ${assistantId}, channel ${channel}.\n`;
  let after: string | null = null;
  do {
    const wanted: PageRequest = { limit: limits.listDefault, after, order: 'asc' };
    const { items, next }: WrittenPage<Message> = await writePage(
      wanted,
      (page) => readMessages(services.store, workspaceId, id, page),
      (message) => messageView(message, 'console'),
    );
    for (const message of items) {
      yield* piecesOf(`${before}${sectionOf(message)}`);
      before = '';
    }
    after = next;
  } while (after !== null);
  if (before !== '') yield before;
  // A session that is deleted meanwhile seems to end early: then the answer is cut, so that nobody takes the beginning
  // for the whole.
  await readSession(workspaceId, id, services);
}

function* piecesOf(text: string): Generator<string, void> {
  for (let rest = text; rest !== '';) {
    const end = indexAfter(rest, limits.flowingCharacters);
    yield rest.slice(0, end);
    rest = rest.slice(end);
  }
}

function sectionOf(message: Message): string {
  const parts = [
    `## ${speakerOf(message)} · ${timeOf(message.createdAt)}`,
    message.content === '' ? '' : quoted(message.content),
    noteOn(message),
  ];
  return parts
    .filter((part) => part !== '')
    .map((part) => `\n${part}\n`)
    .join('');
}

const speakers = { user: 'Visitor', assistant: 'Assistant', person: 'Person', notice: 'Notice' } as const;
const speakerOf = ({ role, visitorId, by }: Message): string =>
  (by?.name ?? speakers[role]) + (visitorId == null ? '' : `, verified (${visitorId})`);

function noteOn({ status, stopReason, errorCode }: Message): string {
  if (status === 'streaming') return '*Still being written.*';
  if (status === 'partial')
    return `*Cut short: ${[stopReason, errorCode && `\`${errorCode}\``].filter(Boolean).join(', ')}.*`;
  return '';
}

/** 2026-01-31 12:00:00 UTC */
const timeOf = (at: number): string => `${new Date(at * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The line ends that text viewers know, more than Markdown does: no line may begin without its mark. */
const lineEnd = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
const unprintable = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/g;
/** The beginning of a tag, a comment or the like, unless a backslash escapes it: such a pair is taken together. */
const tagOrPair = /\\.|<(?=[A-Za-z/!?])/g;

/** Marks each line, so that no message ends the quotation. A tag could reach beyond it where HTML is let through. */
const quoted = (text: string): string =>
  text
    .split(lineEnd)
    .map((line) =>
      line === ''
        ? '>'
        : `> ${line.replace(unprintable, '\ufffd').replace(tagOrPair, (found) => (found === '<' ? '\\<' : found))}`,
    )
    .join('\n');

/** A row for each bucket of the window, in the order of the columns that its head names. */
export const usageCsv = (
  workspaceId: string,
  wanted: UsageOf,
  window: UsageWindow,
  services: Services,
): Promise<Reply> =>
  replyFlowing(rowsOf(workspaceId, wanted, window, services), {
    'content-type': `${csvType}; charset=utf-8; header=present`,
  });

async function* rowsOf(
  workspaceId: string,
  wanted: UsageOf,
  { start, end, bucket }: UsageWindow,
  { store }: Services,
): AsyncGenerator<string, void> {
  const bucketSeconds = secondsIn(bucket);
  let before = rowOf(['start', ...Object.keys(usageCountsView(none))]);
  for (const [from, to] of partsOf(start, end, bucketSeconds)) {
    const buckets = await store.usage.read(workspaceId, { ...wanted, start: from, end: to, bucketSeconds });
    // Numbers and names alone: nothing needs quotes.
    yield before + buckets.map((counts) => rowOf([counts.start, ...Object.values(usageCountsView(counts))])).join('');
    before = '';
  }
}

const rowOf = (cells: readonly (string | number)[]): string => `${cells.join(',')}\r\n`;
