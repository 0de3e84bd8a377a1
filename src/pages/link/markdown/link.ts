/** Links in a reply: to a web page, a mailbox or a telephone, in a new window, with their target shown. */

const protocols = new Set(['http:', 'https:', 'mailto:', 'tel:']);
/** A number to call. One with `*` or `#` gives orders to the network, such as to forward calls. */
const telephone = /^\+?[\d\s()./-]{2,40}(?:;ext=\d{1,8})?$/;

/** Returns null for a text that must not become a link. */
export function safeUrl(text: string): URL | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  if (!protocols.has(url.protocol)) return null;
  if (url.protocol === 'tel:')
    return telephone.test(decoded(url.pathname)) && url.search + url.hash === '' ? url : null;
  // People, and no browser, take the part before an @ for the host.
  if (url.protocol !== 'mailto:') url.username = url.password = '';
  return url;
}

/** The link, and behind it the host where the text does not say it. */
export function link(url: URL, children: readonly Node[]): Node[] {
  const element = document.createElement('a');
  element.href = url.href;
  element.target = '_blank';
  element.rel = 'noopener noreferrer nofollow ugc';
  element.append(...children);
  const place = url.host || decoded(url.pathname);
  if (says(element.textContent, place, url.protocol === 'tel:')) return [element];
  const note = document.createElement('span');
  note.className = 'host';
  note.dir = 'ltr';
  note.textContent = ` (${place})`;
  return [element, note];
}

/** Whether the text is the address: not whether the place occurs in it, since another may stand before. */
function says(text: string, place: string, isTelephone: boolean): boolean {
  const bare = text.trim().replace(/^(https?:\/\/|mailto:|tel:)/i, '');
  // A telephone's number is the same with any marks between its digits.
  if (isTelephone) return telephone.test(bare) && digits(bare) === digits(place);
  return (
    bare.toLowerCase() === place.toLowerCase() ||
    (/^[\w.-]+(:\d+)?([/?#]|$)/.test(bare) && bare.toLowerCase().split(/[/?#]/)[0] === place.toLowerCase())
  );
}

const digits = (text: string): string => text.replace(/[^\d+]/g, '');

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
