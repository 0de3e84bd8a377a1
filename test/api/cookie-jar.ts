/** A browser without pages: keeps cookies, and follows redirects up to an address. */
export class CookieJar {
  /** Cookies by host and name. */
  readonly #cookies = new Map<string, Map<string, string>>();

  /** The header `Cookie` of a request to an address. */
  header(address: string | URL): string {
    return [...this.#of(new URL(address))].map((pair) => pair.join('=')).join('; ');
  }

  /** Requests an address as a person would who follows a link; a redirect is not followed. */
  async get(address: string | URL, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const url = new URL(address);
    const cookie = this.header(url);
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { ...headers, ...(cookie === '' ? {} : { cookie }) },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value, rest] = /^([^=]+)=([^;]*)(.*)$/.exec(line)!;
      if (/max-age=0\b|expires=Thu, 01 Jan 1970/i.test(rest!)) this.#of(url).delete(name!);
      else this.#of(url).set(name!, value!);
    }
    return answer;
  }

  /** Follows redirects until an address begins with one of these: that address, which is not requested. */
  async follow(answer: Response, ...ends: readonly string[]): Promise<URL> {
    for (let one = answer; ;) {
      const location = one.headers.get('location');
      if (location === null) throw new Error(`${one.url} answers ${one.status}: ${await one.text()}`);
      const next = new URL(location, one.url);
      if (ends.some((end) => next.href.startsWith(end))) return next;
      one = await this.get(next);
    }
  }

  #of({ host }: URL): Map<string, string> {
    let cookies = this.#cookies.get(host);
    if (cookies === undefined) this.#cookies.set(host, (cookies = new Map()));
    return cookies;
  }
}
