/** Holds real traffic to the OpenAPI document: status, headers and body of every answer, and every event's data. */
import { routedPath } from '../../src/http/paths.ts';
import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { faultsOf, type Schema } from '../json-schema.ts';

interface Response {
  readonly headers?: Record<string, unknown>;
  readonly content?: Record<string, { readonly schema: Schema }>;
}

/** Headers that a client may count on, so that they must be in the document wherever they are sent. */
const ownHeaders = [
  ...[
    'x-request-id',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
    'retry-after',
    'www-authenticate',
  ],
  ...['location', 'etag', 'cache-control', 'x-turn-id', 'x-audio-sample-rate', 'idempotent-replayed'],
];

export interface Conformity {
  /** Throws the faults of an answer. Paths that the document does not have must answer `route_not_found`. */
  check(method: string, path: string, answer: { status: number; headers: Headers; json: unknown }): void;
  checkEvent(event: { event: string; data: unknown }): void;
}

/** Validators by program: making the document takes a server a third of its start. */
const known = new Map<string, Promise<Conformity>>();

interface Serving {
  readonly url: string;
  readonly program: string;
}

/** Servers of one `program` serve one document: the first is asked for it. */
export function conformity(server: Serving): Promise<Conformity> {
  let conforms = known.get(server.program);
  if (conforms === undefined) {
    conforms = documentOf(server).then((document) => conformityTo(JSON.parse(document)));
    known.set(server.program, conforms);
    conforms.catch(() => known.delete(server.program));
  }
  return conforms;
}

/** The folder of the bundles of one `npm test`, which is one file's place to leave the document for the others. */
const folder = /^.*[\\/]parley-tests-\d+(?=[\\/])/.exec(process.argv[1]!)?.[0];

async function documentOf({ url, program }: Serving): Promise<string> {
  const ask = async (): Promise<string> => (await fetch(`${url}/openapi.json`)).text();
  if (folder === undefined) return ask();
  const file = join(folder, `document-${createHash('sha256').update(program).digest('hex')}.json`);
  const kept = await readFile(file, 'utf8').catch(() => null);
  if (kept !== null) return kept;
  const document = await ask();
  // Two servers of one process may be asked at a time.
  const own = `${file}.${randomUUID()}`;
  await writeFile(own, document);
  await rename(own, file);
  return document;
}

function conformityTo(document: any): Conformity {
  const valid = (id: string, schema: Schema, value: unknown): void => {
    const faults = faultsOf(schema, value, document);
    if (faults.length > 0) throw new Error(`${id}: ${faults.join(', ')} in ${JSON.stringify(value)}`);
  };
  const operations: { pattern: RegExp; path: string }[] = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

  return {
    check(method, fullPath, { status, headers, json }) {
      const id = headers.get('x-request-id');
      if (id === null || !/^req_[0-9a-z]{26}$/.test(id))
        throw new Error(`${method} ${fullPath}: X-Request-Id is ${id}`);
      const path = routedPath(fullPath.split('?')[0]!);
      const known = operations.find(({ pattern }) => pattern.test(path));
      const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
      const operation = known && document.paths[known.path][verb];
      if (operation === undefined) {
        if (status !== 404 || (json as any)?.error?.code !== 'route_not_found')
          throw new Error(`${method} ${path} is not in the document, yet answered ${status}`);
        return;
      }
      const name = `${method} ${known!.path} → ${status}`;
      const response: Response | undefined = operation.responses[status];
      if (response === undefined) throw new Error(`${name}: the document has no such status`);
      for (const header of ownHeaders) {
        const documented = Object.keys(response.headers ?? {}).some((one) => one.toLowerCase() === header);
        if (!documented && headers.has(header)) throw new Error(`${name}: ${header} is not documented`);
      }
      const [type] = (headers.get('content-type') ?? '').split(';');
      const types = Object.keys(response.content ?? {}).map((one) => one.split(';')[0]);
      if (type !== '' && method !== 'HEAD' && !types.includes(type))
        throw new Error(`${name}: ${type} is not documented`);
      const schema = response.content?.['application/json']?.schema;
      if (schema !== undefined && (type === 'application/json' || types.length === 1) && method !== 'HEAD') {
        valid(name, schema, json);
      }
      if (status >= 400 && method !== 'HEAD' && (json as any)?.request_id !== id)
        throw new Error(`${name}: request_id is not X-Request-Id`);
    },
    checkEvent({ event, data }) {
      const schema = document['x-events'][event];
      if (schema === undefined) throw new Error(`the document has no event ${event}`);
      valid(`event ${event}`, schema, data);
    },
  };
}
