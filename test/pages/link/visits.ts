/** Helpers for the tests of the public link: visitors, and the operator who looks at it. */
import type { Answer, Ask, House, Stream } from '../../api/house.ts';

export const site = 'https://shop.example';

/** An assistant with both channels of the link on, and how it answers. */
export async function linked(
  house: House,
  slug: string,
  {
    name = 'tokens=2,delay_ms=0',
    ...fields
  }: { name?: string; limits?: object; origins?: string[] } & Record<string, unknown> = {},
): Promise<any> {
  const { limits = {}, origins = [site], ...rest } = fields;
  return house.assistant({
    channels: { voice: false, link: true, widget: true },
    model: { provider: 'synthetic', name },
    link: { slug, limits, origins },
    ...rest,
  });
}

/** Changes the limits of an assistant's link. */
export async function limitsOf(house: House, assistant: { id: string }, limits: object): Promise<void> {
  const { status, text } = await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`, {
    method: 'PATCH',
    body: { link: { limits } },
  });
  if (status !== 200) throw new Error(text);
}

export const statusOf = async (house: House, assistant: { id: string }): Promise<any> =>
  (await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/link`)).json;

/** A visitor of a slug. */
export class Visit {
  readonly house: House;
  readonly slug: string;
  readonly headers: Readonly<Record<string, string>>;
  id = '';
  token = '';

  private constructor(house: House, slug: string, headers: Readonly<Record<string, string>>) {
    this.house = house;
    this.slug = slug;
    this.headers = headers;
  }

  static async to(
    house: House,
    slug: string,
    { body = { channel: 'link' }, headers = {} }: { body?: object; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Visit> {
    const visit = new Visit(house, slug, headers);
    const { status, json, text } = await visit.ask('/visitors', { key: null, body });
    if (status !== 201) throw new Error(text);
    visit.id = json.id;
    visit.token = json.token;
    return visit;
  }

  ask(path: string, { headers = {}, ...ask }: Ask = {}): Promise<Answer> {
    return this.house.ask(`/p/${this.slug}${path}`, {
      key: this.token,
      headers: { ...this.headers, ...headers },
      ...ask,
    });
  }

  async session(fields: object = {}): Promise<any> {
    const { status, json, text } = await this.ask('/sessions', { body: fields });
    if (status !== 201) throw new Error(text);
    return json;
  }

  say(session: { id: string }, message = 'Hello', headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.ask(`/sessions/${session.id}/chat`, { body: { message }, headers });
  }

  /** A reply as it streams. */
  stream(session: { id: string }, message = 'Hello'): Promise<Stream> {
    return this.house.stream(`/p/${this.slug}/sessions/${session.id}/chat`, {
      key: this.token,
      headers: this.headers,
      body: { message },
    });
  }
}

/** Returns the status of an answer and its `Retry-After`. */
export const verdict = ({ status, headers }: Answer): [number, number | null] => [
  status,
  headers.has('retry-after') ? Number(headers.get('retry-after')) : null,
];
