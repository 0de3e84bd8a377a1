/** Finds the route of a path: a tree of its segments. */
import type { Route } from './request.ts';

interface Node {
  readonly literal: Map<string, Node>;
  parameter: Node | null;
  /** The routes that end here, by method. */
  readonly routes: Map<string, Route>;
}

const node = (): Node => ({ literal: new Map(), parameter: null, routes: new Map() });

export class Router {
  readonly #root = node();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      let place = this.#root;
      for (const segment of route.path.split('/').slice(1)) place = descend(place, segment);
      place.routes.set(route.method, route);
    }
  }

  /** The route and its percent-decoded parameters, or null. A parameter is never empty. */
  find(method: string, path: string): { route: Route; params: Record<string, string> } | null {
    const values: string[] = [];
    let place: Node | undefined = this.#root;
    for (const segment of path.split('/').slice(1)) {
      const literal: Node | undefined = place.literal.get(segment);
      if (literal === undefined && segment !== '') values.push(segment);
      place = literal ?? (segment === '' ? undefined : (place.parameter ?? undefined));
      if (place === undefined) return null;
    }
    const route = place.routes.get(method);
    return route === undefined ? null : { route, params: named(route, values) };
  }
}

function descend(place: Node, segment: string): Node {
  if (segment.startsWith('{')) return (place.parameter ??= node());
  let next = place.literal.get(segment);
  if (next === undefined) place.literal.set(segment, (next = node()));
  return next;
}

function named(route: Route, values: readonly string[]): Record<string, string> {
  const names = route.path.match(/\{\w+\}/g) ?? [];
  return Object.fromEntries(names.map((name, index) => [name.slice(1, -1), decoded(values[index]!)]));
}

/** A segment that is not percent-encoding is taken as it stands: it names nothing that exists. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
