/**
 * A reply's Markdown as nodes. No text of a reply is ever read as HTML: elements come from these lines alone, and none
 * loads anything. Images become links. The list of elements and attributes is in test/pages/link/markdown.test.ts.
 */
import { blocksOf, type Block } from './markdown/blocks.ts';
import { inline } from './markdown/inline.ts';

/** Shows a reply that grows: what is there stays as it is, with what somebody has selected in it. */
export class Markdown {
  readonly #into: Element;
  #shown: string[] = [];

  constructor(into: Element) {
    this.#into = into;
  }

  /** Shows a text; `open` while more of it is expected. */
  show(text: string, open: boolean): void {
    const blocks = blocksOf(text);
    const last = blocks.length - 1;
    const keys = blocks.map((block, index) => JSON.stringify(block) + (open && index === last));
    const same = keys.findIndex((key, index) => key !== this.#shown[index]);
    const kept = same < 0 ? blocks.length : same;
    grow(
      this.#into,
      blocks.slice(kept).map((block, index) => auto(nodeOf(block, open && kept + index === last))),
      kept,
    );
    this.#shown = keys;
  }
}

/**
 * Puts nodes in place of the children from an index on. Elements that stay what they are and the beginning of a text
 * remain the same nodes: a selection in them does.
 */
function grow(into: Node, nodes: readonly Node[], from = 0): void {
  nodes.forEach((node, index) => {
    const there = into.childNodes[from + index];
    if (there === undefined) into.appendChild(node);
    else if (!there.cloneNode().isEqualNode(node.cloneNode()) && !(there instanceof Text && node instanceof Text))
      there.replaceWith(node);
    else if (there instanceof Text) goOn(there, node.textContent!);
    else grow(there, [...node.childNodes]);
  });
  while (into.childNodes.length > from + nodes.length) into.lastChild!.remove();
}

/** Changes a text behind what it and the new one begin with alike. */
function goOn(there: Text, text: string): void {
  let same = 0;
  while (same < text.length && text[same] === there.data[same]) same++;
  if (same < Math.max(text.length, there.length)) there.replaceData(same, there.length - same, text.slice(same));
}

function makeElement<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  children: readonly (Node | string)[],
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}

/**
 * Each block finds its direction by its own first letter, and what is in it goes along: a list's numbers, a quote's
 * line.
 */
function auto(element: HTMLElement): HTMLElement {
  element.dir = 'auto';
  return element;
}

function nodeOf(block: Block, open: boolean): HTMLElement {
  switch (block.kind) {
    case 'paragraph':
      return makeElement('p', inline(block.text, open));
    case 'heading':
      // The page's own name is the first heading.
      return makeElement(`h${Math.min(block.level + 1, 6)}` as 'h2', inline(block.text, open));
    case 'code':
      return makeElement('pre', [makeElement('code', [block.text])]);
    case 'rule':
      return makeElement('hr', []);
    case 'quote':
      return makeElement('blockquote', within(block.blocks, open));
    case 'list':
      return list(block, open);
    case 'table':
      return table(block);
  }
}

const within = (blocks: readonly Block[], open: boolean): Node[] =>
  blocks.map((inner, index) => nodeOf(inner, open && index === blocks.length - 1));

function list({ start, items }: Block & { kind: 'list' }, open: boolean): HTMLElement {
  const element = makeElement(
    start === null ? 'ul' : 'ol',
    items.map((blocks, index) => makeElement('li', inItem(blocks, open && index === items.length - 1))),
  );
  if (start !== null && start !== 1) (element as HTMLOListElement).start = start;
  return element;
}

/** Nodes of an item: its first text gets no `p` element. */
function inItem([first, ...more]: readonly Block[], open: boolean): Node[] {
  if (first?.kind !== 'paragraph') return within(first === undefined ? [] : [first, ...more], open);
  return [...inline(first.text, open && more.length === 0), ...within(more, open)];
}

function table({ ends, rows }: Block & { kind: 'table' }): HTMLElement {
  const [head = [], ...body] = rows;
  const row = (cells: readonly string[], tag: 'th' | 'td'): Node =>
    makeElement(
      'tr',
      head.map((_, index) => {
        const cell = makeElement(tag, inline(cells[index] ?? ''));
        if (ends[index] === 'right' || ends[index] === 'center') cell.className = ends[index];
        return cell;
      }),
    );
  return makeElement('table', [
    makeElement('thead', [row(head, 'th')]),
    makeElement(
      'tbody',
      body.map((cells) => row(cells, 'td')),
    ),
  ]);
}
