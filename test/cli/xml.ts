/** A strict reader of the part of XML that a JUnit file uses, and the shape that its readers expect. */

export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlElement[];
  text: string;
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
const character = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u;

/** Reads a document; throws where a parser would stop. */
export function parseXml(document: string): XmlElement {
  if (!document.startsWith(declaration)) throw new Error('There is no declaration.');
  if (!character.test(document)) throw new Error('A character is impossible in XML.');
  const root: XmlElement = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const token = /<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>|([^<]+)/gy;
  token.lastIndex = declaration.length;
  for (let found = token.exec(document); found !== null; found = token.exec(document)) {
    const [, closing, name = '', attributes = '', empty, text] = found;
    const parent = open.at(-1)!;
    if (text !== undefined) parent.text += unescaped(text);
    else if (closing !== '') {
      if (open.length < 2 || parent.name !== name || attributes !== '') throw new Error(`</${name}> ends nothing.`);
      open.pop();
    } else {
      const element: XmlElement = { name, attributes: attributesOf(attributes), children: [], text: '' };
      parent.children.push(element);
      if (empty === '') open.push(element);
    }
    if (token.lastIndex === document.length) {
      if (open.length > 1 || root.children.length !== 1 || root.text.trim() !== '') break;
      return root.children[0]!;
    }
  }
  throw new Error(`The document is not well-formed: ${document}`);
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/ ([a-z]+)="([^"]*)"/g)) {
    if (name! in attributes) throw new Error(`${name} is there twice.`);
    if (/[\n\t]/.test(value!)) throw new Error(`A reader turns the white space of ${name} into spaces.`);
    attributes[name!] = unescaped(value!);
  }
  return attributes;
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

function unescaped(text: string): string {
  if (text.includes(']]>')) throw new Error(']]> is not allowed in text.');
  return text.replace(/&(?:#(\d+);|(\w+);)?/g, (whole, code: string | undefined, name: string | undefined) => {
    const one = code === undefined ? named[name ?? ''] : String.fromCodePoint(Number(code));
    if (one === undefined || !character.test(one)) throw new Error(`${whole} means nothing.`);
    return one;
  });
}

const number = /^\d+$/;
const seconds = /^\d+\.\d{3}$/;
const text = /[^]/;
const counts = { tests: number, failures: number, errors: number, time: seconds };

/** Elements of a JUnit file: attributes (`?`: optional) and children, in the order of the schema of Jenkins' plugin. */
const shape: Readonly<Record<string, { attributes: Readonly<Record<string, RegExp>>; children: readonly string[] }>> = {
  testsuites: { attributes: { name: text, ...counts }, children: ['testsuite'] },
  testsuite: {
    attributes: { name: text, ...counts, skipped: number, timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/ },
    children: ['properties', 'testcase'],
  },
  properties: { attributes: {}, children: ['property'] },
  property: { attributes: { name: text, value: text }, children: [] },
  testcase: { attributes: { name: text, classname: text, 'time?': seconds }, children: ['failure', 'error'] },
  failure: { attributes: { message: text, type: text }, children: [] },
  error: { attributes: { message: text, type: text }, children: [] },
};

/** Says what of the file differs from the shape, or is counted wrong; empty for a file that readers take. */
export function junitProblems(element: XmlElement): string[] {
  const { name, attributes, children } = element;
  const expected = shape[name];
  if (expected === undefined) return [`<${name}>`];
  const problems: string[] = [];
  const patterns = Object.entries(expected.attributes);
  for (const [key, pattern] of patterns) {
    const value = attributes[key.replace('?', '')];
    if (value === undefined ? !key.endsWith('?') : !pattern.test(value)) problems.push(`${name} ${key}: ${value}`);
  }
  for (const key of Object.keys(attributes))
    if (!patterns.some(([one]) => one.replace('?', '') === key)) problems.push(`${name} has ${key}`);
  const places = children.map((child) => expected.children.indexOf(child.name));
  if (places.includes(-1) || places.some((place, index) => place < (places[index - 1] ?? 0)))
    problems.push(`children of ${name}: ${children.map((child) => child.name).join(', ')}`);
  if (name === 'testcase' && children.length > 1) problems.push('a case with two ends');
  if (name === 'testsuite' || name === 'testsuites') problems.push(...miscounts(element));
  return [...problems, ...children.flatMap(junitProblems)];
}

const all = (element: XmlElement, name: string): number =>
  element.children.reduce((sum, child) => sum + all(child, name), element.name === name ? 1 : 0);

const miscounts = (element: XmlElement): string[] =>
  [
    ['tests', 'testcase'],
    ['failures', 'failure'],
    ['errors', 'error'],
  ].flatMap(([attribute, name]) =>
    Number(element.attributes[attribute!]) === all(element, name!) ? [] : [`${element.name} ${attribute}`],
  );
