/** Finds the route of a path: a tree of its segments. */
import type { PathParameters, Route } from './request.ts';

interface Node {
  readonly literal: Map<string, Node>;
  parameter: Node | null;
  /** Set if the rest of the path, including slashes, is one parameter. */
  tail: Node | null;
  /** The routes that end here, by method, each with the names of its parameters in order. */
  readonly routes: Map<string, { readonly route: Route; readonly names: readonly string[] }>;
}

const node = (): Node => ({ literal: new Map(), parameter: null, tail: null, routes: new Map() });

export class Router {
  readonly #root = node();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      let place = this.#root;
      for (const segment of route.path.split('/').slice(1)) place = descend(place, segment);
      const names = (route.path.match(/\{\w+\*?\}/g) ?? []).map((name) => name.replace(/\W/g, ''));
      place.routes.set(route.method, { route, names });
    }
  }

  /** The route and its percent-decoded parameters, or null. A parameter is never empty. */
  find(method: string, path: string): { route: Route; params: PathParameters } | null {
    const values: string[] = [];
    let place: Node | undefined = this.#root;
    let tail: { readonly place: Node; readonly from: number; readonly values: number } | null = null;
    for (let from = 1; from > 0;) {
      if (place.tail !== null && from < path.length) tail = { place: place.tail, from, values: values.length };
      const slash: number = path.indexOf('/', from);
      const segment = slash < 0 ? path.slice(from) : path.slice(from, slash);
      const literal: Node | undefined = place.literal.get(segment);
      if (literal === undefined && segment !== '') values.push(segment);
      place = literal ?? (segment === '' ? undefined : (place.parameter ?? undefined));
      if (place === undefined) break;
      from = slash + 1;
    }
    const found = place?.routes.get(method);
    if (found !== undefined) return { route: found.route, params: named(found.names, values) };
    const rest = tail?.place.routes.get(method);
    return rest === undefined
      ? null
      : { route: rest.route, params: named(rest.names, [...values.slice(0, tail!.values), path.slice(tail!.from)]) };
  }
}

function descend(place: Node, segment: string): Node {
  if (segment.endsWith('*}')) return (place.tail ??= node());
  if (segment.startsWith('{')) return (place.parameter ??= node());
  let next = place.literal.get(segment);
  if (next === undefined) place.literal.set(segment, (next = node()));
  return next;
}

function named(names: readonly string[], values: readonly string[]): PathParameters {
  const params: Record<string, string> = {};
  for (let index = 0; index < names.length; index++) params[names[index]!] = decoded(values[index]!);
  return params as PathParameters;
}

/** The parameters of a path without any. */
export const noParameters = named([], []);

/** A segment with invalid percent-encoding is used unchanged: it names nothing that exists. */
function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
