/** The differences of two versions: texts word by word, tools side by side. */
import { Fragment } from 'preact';
import { useMemo } from 'preact/hooks';
import { plural } from '../format.ts';
import type { VersionChange } from '../types.ts';
import { State } from './head.tsx';
import { labelOf, orderOf, settingText, type ToolNames } from './setting-words.ts';
import { folded, sideOf, unified, wordChanges, type TextPart } from './word-changes.ts';

interface Options {
  readonly of: readonly VersionChange[];
  /** The names of the older and the newer side. */
  readonly sides: readonly [before: string, after: string];
  readonly tools: ToolNames;
}

export function VersionChanges({ of, sides, tools }: Options) {
  if (of.length === 0) return <p class="note">No setting differs.</p>;
  const settings = of
    .filter(({ path }) => !path.startsWith('tools.'))
    .toSorted((one, other) => orderOf(one.path) - orderOf(other.path));
  return (
    <div class="stack-wide">
      {settings.map(({ path, before, after }) => (
        <Setting
          key={path}
          label={labelOf(path)}
          before={settingText(path, before, tools)}
          after={settingText(path, after, tools)}
        />
      ))}
      {[...byTool(of)].map(([id, changes]) => (
        <ToolDifference key={id} name={tools.get(id) ?? id} of={changes} sides={sides} />
      ))}
    </div>
  );
}

/** A text is long if it does not fit beside another one. */
const isLong = (text: string | null): boolean => text !== null && (text.length > 80 || text.includes('\n'));

interface Sides {
  readonly before: string | null;
  readonly after: string | null;
}

const Setting = ({ label, before, after }: Sides & { label: string }) => (
  <section class="difference" aria-label={label}>
    <h3>{label}</h3>
    {isLong(before) || isLong(after) ? (
      <Unified before={before ?? ''} after={after ?? ''} />
    ) : (
      <p class="swap">
        <Short name="Before" text={before} /> <span aria-hidden="true">→</span> <Short name="After" text={after} />
      </p>
    )}
  </section>
);

const Short = ({ name, text }: { name: 'Before' | 'After'; text: string | null }) => (
  <span class={name === 'Before' ? 'soft' : undefined}>
    <span class="visually-hidden">{name}: </span>
    {text ?? 'none'}
  </span>
);

const useWords = (before: string, after: string) => useMemo(() => wordChanges(before, after), [before, after]);

/** Both texts in one: removed words are struck through, added words are underlined. */
function Unified({ before, after }: { before: string; after: string }) {
  const parts = unified(useWords(before, after));
  return (
    <div class="prose">
      {parts.map((part, index) => (
        <Part key={index} of={part} isFirst={index === 0} isLast={index === parts.length - 1} />
      ))}
    </div>
  );
}

function Part({ of: { kind, text }, isFirst, isLast }: { of: TextPart; isFirst: boolean; isLast: boolean }) {
  if (kind === 'removed') return <del>{text}</del>;
  if (kind === 'added') return <ins>{text}</ins>;
  const parts = folded(text, isFirst, isLast);
  if (parts === null) return <>{text}</>;
  const [begin, middle, end] = parts;
  return (
    <>
      {begin}
      <details>
        <summary>{plural(middle.length, 'unchanged character')}</summary>
        {middle}
      </details>
      {end}
    </>
  );
}

/** The changes of tools by the tool's id, each with the path within the tool. */
function byTool(changes: readonly VersionChange[]): ReadonlyMap<string, readonly VersionChange[]> {
  const found = new Map<string, VersionChange[]>();
  for (const { path, ...values } of changes) {
    const [first, id, ...rest] = path.split('.');
    if (first !== 'tools' || id === undefined) continue;
    found.set(id, [...(found.get(id) ?? []), { path: rest.join('.'), ...values }]);
  }
  return found;
}

interface ToolOptions {
  readonly name: string;
  readonly of: readonly VersionChange[];
  readonly sides: Options['sides'];
}

/** A tool that differs: its settings and functions, the older side left. */
export function ToolDifference({ name, of, sides }: ToolOptions) {
  const id = of.find(({ path }) => path === 'id');
  const kind = id === undefined ? 'changed' : id.before === null ? 'added' : 'removed';
  const settings = of.filter(({ path }) => path !== 'id' && path !== 'functions');
  const functions = of.find(({ path }) => path === 'functions');
  return (
    <section class="difference" aria-label={`Tool ${name}`}>
      <h3>
        Tool {name} <State name={kind} tone={kind === 'added' ? 'good' : kind === 'removed' ? 'red' : 'lit'} />
      </h3>
      <div class="sides" aria-hidden="true">
        <span>{sides[0]}</span>
        <span>{sides[1]}</span>
      </div>
      {settings.map(({ path, before, after }) => (
        <Pair
          key={path}
          label={labelOf(path)}
          before={settingText(path, before, none)}
          after={settingText(path, after, none)}
          sides={sides}
        />
      ))}
      {functions && <Functions before={functions.before} after={functions.after} sides={sides} />}
    </section>
  );
}

const none: ToolNames = new Map();

interface VersionedFunction {
  readonly name: string;
  readonly [setting: string]: unknown;
}

const functionsOf = (value: unknown): readonly VersionedFunction[] => (value ?? []) as readonly VersionedFunction[];

function Functions({ before, after, sides }: { before: unknown; after: unknown; sides: Options['sides'] }) {
  const [old, fresh] = [functionsOf(before), functionsOf(after)];
  const names = [...new Set([...old, ...fresh].map(({ name }) => name))];
  const text = (from: readonly VersionedFunction[], name: string) =>
    functionText(from.find((one) => one.name === name));
  const different = names.filter((name) => text(old, name) !== text(fresh, name));
  return (
    <>
      {different.map((name) => (
        <Pair key={name} label={name} before={text(old, name)} after={text(fresh, name)} sides={sides} code />
      ))}
      {different.length < names.length && (
        <p class="note">
          {different.length === 0
            ? 'Its functions are in another order.'
            : `${plural(names.length - different.length, 'function')} unchanged.`}
        </p>
      )}
    </>
  );
}

const functionText = (of: VersionedFunction | undefined): string | null => {
  if (of === undefined) return null;
  const { name: _, description, parameters, remote_name: remote, ...rest } = of;
  const settings = Object.entries(rest).map(([setting, value]) => `${setting}: ${String(value)}`);
  const first = [...(remote === undefined ? [] : [`name on the server: ${String(remote)}`]), ...settings];
  return [String(description ?? 'no description'), ...first, JSON.stringify(parameters, null, 2)].join('\n');
};

type PairOptions = Sides & {
  readonly label: string;
  readonly isLabelHidden?: boolean;
  readonly sides: Options['sides'];
  readonly code?: boolean;
};

/** Two texts side by side, with the words that differ marked in each. */
export function Pair({ label, isLabelHidden = false, before, after, sides, code = false }: PairOptions) {
  const parts = useWords(before ?? '', after ?? '');
  const isWhole = before === null || after === null;
  return (
    <div class="pairing" role="group" aria-label={label}>
      {!isLabelHidden && <h4>{code ? <code>{label}</code> : label}</h4>}
      {([before, after] as const).map((text, index) => (
        <div key={index} class={code ? 'prose code' : 'prose'}>
          <span class="visually-hidden">{sides[index]}: </span>
          {text === null ? (
            <span class="soft">none</span>
          ) : (
            sideOf(parts, index === 0 ? 'before' : 'after').map(({ kind, text: words }, place) => (
              <Fragment key={place}>{kind === 'same' || isWhole ? words : marked(kind, words)}</Fragment>
            ))
          )}
        </div>
      ))}
    </div>
  );
}

const marked = (kind: TextPart['kind'], text: string) => (kind === 'removed' ? <del>{text}</del> : <ins>{text}</ins>);
