/** Holds real traffic to the OpenAPI document: status, headers and body of every answer, and every event's data. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface Response {
  readonly headers?: Record<string, unknown>;
  readonly content?: Record<string, { readonly schema: object }>;
}

/** Headers that a client may count on, so that they must be in the document wherever they are sent. */
const ownHeaders = [
  ...['x-request-id', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after', 'www-authenticate'],
  ...['location', 'etag', 'cache-control', 'x-turn-id', 'x-audio-sample-rate', 'idempotent-replayed'],
];

export interface Conformity {
  /** Throws what is wrong with the answer. Paths that the document does not have must answer `route_not_found`. */
  check(method: string, path: string, answer: { status: number; headers: Headers; json: unknown }): void;
  checkEvent(event: { event: string; data: unknown }): void;
}

/** By program: a server takes a third of its start to make the document, and the validators take a while to compile. */
const known = new Map<string, Conformity>();

/** Servers of one `program` serve one document: it is asked of the first. */
export async function conformity({ url, program }: { readonly url: string; readonly program: string }): Promise<Conformity> {
  const conforms = known.get(program) ?? conformityTo(await documentOf(url));
  known.set(program, conforms);
  return conforms;
}

const documentOf = async (url: string): Promise<unknown> => (await fetch(`${url}/openapi.json`)).json();

function conformityTo(document: any): Conformity {
  // Optimised validators take longer to compile than they save on the few answers that a file has.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } });
  // Added whole, so that what several schemas refer to is compiled once. That it is a sound document the linter sees to.
  ajv.addSchema(document, 'document');
  const validators = new Map<string, ValidateFunction>();
  /** Of the schema at a place in the document. */
  const validator = (place: readonly (string | number)[]): ValidateFunction => {
    const pointer = place.map((key) => `/${encodeURIComponent(String(key).replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
    let found = validators.get(pointer);
    if (found === undefined) validators.set(pointer, (found = ajv.getSchema(`document#${pointer}`)!));
    return found;
  };
  const valid = (id: string, place: readonly (string | number)[], value: unknown): void => {
    const validate = validator(place);
    if (!validate(value)) throw new Error(`${id}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`);
  };
  const operations: { pattern: RegExp; path: string }[] = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

  return {
    check(method, fullPath, { status, headers, json }) {
      const id = headers.get('x-request-id');
      if (id === null || !/^req_[0-9a-z]{26}$/.test(id)) throw new Error(`${method} ${fullPath}: X-Request-Id is ${id}`);
      const path = fullPath.split('?')[0]!;
      const known = operations.find(({ pattern }) => pattern.test(path));
      const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
      const operation = known && document.paths[known.path][verb];
      if (operation === undefined) {
        if (status !== 404 || (json as any)?.error?.code !== 'route_not_found') throw new Error(`${method} ${path} is not in the document, yet answered ${status}`);
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
      if (type !== '' && method !== 'HEAD' && !types.includes(type)) throw new Error(`${name}: ${type} is not documented`);
      const schema = response.content?.['application/json']?.schema;
      if (schema !== undefined && (type === 'application/json' || types.length === 1) && method !== 'HEAD') {
        valid(name, ['paths', known!.path, verb, 'responses', status, 'content', 'application/json', 'schema'], json);
      }
      if (status >= 400 && method !== 'HEAD' && (json as any)?.request_id !== id) throw new Error(`${name}: request_id is not X-Request-Id`);
    },
    checkEvent({ event, data }) {
      const schema = document['x-events'][event];
      if (schema === undefined) throw new Error(`the document has no event ${event}`);
      valid(`event ${event}`, ['x-events', event], data);
    },
  };
}
