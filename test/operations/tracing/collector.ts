/** A collector of traces for tests: takes OTLP over HTTP, and decodes it with the reader of OpenTelemetry's packages. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { ProtobufReader } from '@opentelemetry/otlp-transformer/build/src/common/protobuf/protobuf-reader.js';
import type { Owner } from '../../folders.ts';
import { until } from '../../api/talk.ts';

const { ProtobufReader: Reader } = createRequire(import.meta.url)(
  '@opentelemetry/otlp-transformer/build/src/common/protobuf/protobuf-reader.js',
) as { ProtobufReader: typeof ProtobufReader };

export type Value = string | number | boolean | Value[];

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, Value>>;
  /** The ids of the spans that it links to. */
  readonly links: readonly string[];
  readonly events: number;
  readonly failed: boolean;
  /** The text of its status. */
  readonly statusText: string;
  readonly resource: Readonly<Record<string, Value>>;
}

/** The fields of a message: bytes, numbers and 64-bit values by their numbers. */
type Fields = Map<number, (Uint8Array | number | bigint)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  const reader = new Reader(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  while (!reader.isAtEnd()) {
    const { fieldNumber, wireType } = reader.readTag();
    const at = reader.pos;
    let value: Uint8Array | number | bigint;
    if (wireType === 0) value = reader.readVarint();
    else if (wireType === 2) value = reader.readBytes();
    else {
      reader.skip(wireType);
      value = wireType === 1 ? view.getBigUint64(at, true) : view.getUint32(at, true);
    }
    fields.set(fieldNumber, [...(fields.get(fieldNumber) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Uint8Array[] => (fields.get(number) ?? []) as Uint8Array[];
const bytesAt = (fields: Fields, number: number): Buffer =>
  Buffer.from(messages(fields, number)[0] ?? new Uint8Array());
const textAt = (fields: Fields, number: number): string => bytesAt(fields, number).toString('utf8');
const hexAt = (fields: Fields, number: number): string => bytesAt(fields, number).toString('hex');

function valueOf(bytes: Uint8Array): Value {
  const [[number, [value]]] = [...fieldsOf(bytes)] as [[number, [Uint8Array | number | bigint]]];
  if (number === 1) return Buffer.from(value as Uint8Array).toString('utf8');
  if (number === 2) return value === 1;
  if (number === 3) return value as number;
  if (number === 4) {
    const double = new DataView(new ArrayBuffer(8));
    double.setBigUint64(0, value as bigint);
    return double.getFloat64(0);
  }
  return messages(fieldsOf(value as Uint8Array), 1).map(valueOf);
}

const attributesAt = (fields: Fields, number: number): Record<string, Value> =>
  Object.fromEntries(
    messages(fields, number).map((bytes) => {
      const pair = fieldsOf(bytes);
      return [textAt(pair, 1), valueOf(bytesAt(pair, 2))];
    }),
  );

const kinds = ['internal', 'internal', 'server', 'client'] as const;

function spanOf(bytes: Uint8Array, resource: Record<string, Value>): CollectedSpan {
  const fields = fieldsOf(bytes);
  const status = fieldsOf(bytesAt(fields, 15));
  return {
    traceId: hexAt(fields, 1),
    spanId: hexAt(fields, 2),
    parentId: hexAt(fields, 4),
    name: textAt(fields, 5),
    kind: kinds[fields.get(6)![0] as number]!,
    start: fields.get(7)![0] as bigint,
    end: fields.get(8)![0] as bigint,
    attributes: attributesAt(fields, 9),
    links: messages(fields, 13).map((link) => hexAt(fieldsOf(link), 2)),
    events: messages(fields, 11).length,
    failed: status.get(3)?.[0] === 2,
    statusText: textAt(status, 2),
    resource,
  };
}

const spansOf = (body: Uint8Array): CollectedSpan[] =>
  messages(fieldsOf(body), 1).flatMap((bytes) => {
    const ofResource = fieldsOf(bytes);
    const resource = attributesAt(fieldsOf(bytesAt(ofResource, 1)), 1);
    return messages(ofResource, 2).flatMap((scope) =>
      messages(fieldsOf(scope), 2).map((span) => spanOf(span, resource)),
    );
  });

export interface Collector {
  readonly url: string;
  /** The variables of a server that exports here, at once. */
  readonly env: Readonly<Record<string, string>>;
  readonly spans: readonly CollectedSpan[];
  /** The bodies as they came. */
  readonly bodies: readonly Buffer[];
  readonly heads: readonly IncomingHttpHeaders[];
  readonly paths: readonly string[];
  /** Resolves with the spans of a trace, in order of their start, once one of this name is among them. */
  traceWith(name: string): Promise<CollectedSpan[]>;
}

/** Opens a collector; `answer` answers in its place. */
export async function openCollector(
  t: Owner,
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end(),
): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const heads: IncomingHttpHeaders[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      bodies.push(body);
      heads.push(request.headers);
      paths.push(request.url!);
      spans.push(...spansOf(body));
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '20' },
    spans,
    bodies,
    heads,
    paths,
    async traceWith(name) {
      const { traceId } = await until(() => spans.find((span) => span.name === name));
      return inOrder(spans.filter((span) => span.traceId === traceId));
    },
  };
}

const inOrder = (spans: readonly CollectedSpan[]): CollectedSpan[] =>
  spans.toSorted((one, other) => Number(one.start - other.start) || Number(other.end - one.end));

/** The spans as a tree: a line each, below its parent, children in order of their start. */
export function treeOf(spans: readonly CollectedSpan[]): string[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const below = (parentId: string | null, depth: number): string[] =>
    inOrder(
      spans.filter((span) => (parentId === null ? !known.has(span.parentId) : span.parentId === parentId)),
    ).flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...below(span.spanId, depth + 1)]);
  return below(null, 0);
}
