/** A browser without pages: keeps cookies, and follows redirects up to an address. */
export class CookieJar {
  /** Cookies by host and name. */
  readonly cookies = new Map<string, Map<string, string>>();

  /** Requests an address as a person would who follows a link; a redirect is not followed. */
  async get(address: string | URL): Promise<Response> {
    const url = new URL(address);
    const cookies = this.cookies.get(url.host) ?? new Map<string, string>();
    this.cookies.set(url.host, cookies);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value, rest] = /^([^=]+)=([^;]*)(.*)$/.exec(line)!;
      if (/max-age=0\b|expires=Thu, 01 Jan 1970/i.test(rest!) || value === '') cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    return answer;
  }

  /** Follows redirects until an address begins with `until`: that address, which was not requested. */
  async follow(answer: Response, until: string): Promise<URL> {
    for (let one = answer; ;) {
      const location = new URL(one.headers.get('location')!, one.url);
      if (location.href.startsWith(until)) return location;
      one = await this.get(location);
    }
  }
}
