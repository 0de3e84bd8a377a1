/** Parses a page of Markdown for the tests of the documentation: its lines of text, links, anchors and code. */

/** A page's text without what stands between fences, and that code. */
export function parted(markdown: string): { readonly text: string; readonly code: readonly string[] } {
  const code: string[] = [];
  const text = markdown.replace(/^```[^\n]*\n([\s\S]*?)^```$/gm, (_, inner: string) => (code.push(inner), ''));
  return { text, code };
}

/** Returns the targets of all links and pictures outside code. */
export const linksOf = (markdown: string): string[] =>
  [
    ...parted(markdown)
      .text.replace(/`[^`\n]*`/g, '')
      .matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|\b(?:src|href)="([^"]+)"/g),
  ].map(([, link, attribute]) => (link ?? attribute)!);

/**
 * Returns the anchors of a page's headings, as GitHub makes them; among equal ones the second and later have a number.
 */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of parted(markdown).text.matchAll(/^#{1,6} +(.+?)(?: +#+)? *$/gm)) {
    const words = title!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = words;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${words}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/**
 * Returns the links of a page that lead nowhere. `textOf` gives the text of a path from the root, '' for a binary file,
 * and null for no file.
 */
export function broken(path: string, markdown: string, textOf: (path: string) => string | null): string[] {
  return linksOf(markdown).filter((link) => {
    if (/^[a-z][a-z+.-]*:|^\/\//i.test(link)) return false;
    const [file = '', anchor] = decodeURI(link).split('#');
    const target = file === '' ? path : new URL(file, `file:///${path}`).pathname.slice(1);
    const text = target === path ? markdown : textOf(target);
    return text === null || link.startsWith('/') || (anchor !== undefined && !anchorsOf(text).has(anchor));
  });
}

/** All code of a page: what stands between fences, and within lines. */
export function codeOf(markdown: string): string[] {
  const { text, code } = parted(markdown);
  return [...code, ...[...text.matchAll(/`([^`\n]+)`/g)].map(([, inner]) => inner!)];
}
