/** The address of an assistant's public link, and the widget's one line with a drawing of the widget on a site. */
import { useState } from 'preact/hooks';
import type { Assistant } from '../types.ts';
import { Command, CopyButton } from './copy.tsx';
import { Check, Choice, Input } from './field.tsx';
import { State } from './head.tsx';
import type { LinkUse } from './link-use.ts';
import { hasVariables } from './prompt-preview.tsx';

export interface OnSiteOptions {
  /** The stored assistant. */
  readonly assistant: Assistant;
  readonly use: LinkUse;
}

export function LinkOnSite({ assistant, use: { status } }: OnSiteOptions) {
  if (status.url === null || !assistant.channels.link) return null;
  const isOpen = assistant.status === 'published';
  return (
    <section class="section" aria-label="The page">
      <h2>The page</h2>
      <p class="acts">
        <a href={status.url} target="_blank" rel="noopener">
          {status.url}
        </a>
        <CopyButton text={status.url} />
        <State name={isOpen ? 'open' : 'closed'} tone={isOpen ? 'good' : 'plain'} />
      </p>
      {!isOpen && <p class="note">The page says that the assistant is not available until it is published.</p>}
    </section>
  );
}

export const WidgetOnSite = ({ assistant, use: { status } }: OnSiteOptions) =>
  status.snippet === null || !assistant.channels.widget ? null : (
    <Widget assistant={assistant} snippet={status.snippet} />
  );

interface Look {
  readonly label: string;
  readonly accent: string;
  readonly theme: string;
  readonly left: boolean;
}

const plainLook: Look = { label: '', accent: '', theme: 'auto', left: false };

/** The server's line with the attributes that differ from their defaults. */
function lineOf(snippet: string, { label, accent, theme, left }: Look): string {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const given = Object.entries({
    label: label.trim(),
    accent,
    theme: theme === 'auto' ? '' : theme,
    position: left ? 'left' : '',
  }).filter(([, value]) => value !== '');
  // A function, since `$` has a special meaning in a replacement text.
  return snippet.replace(
    ' async',
    () => `${given.map(([name, value]) => ` data-${name}="${escaped(value)}"`).join('')} async`,
  );
}

function Widget({ assistant, snippet }: { assistant: Assistant; snippet: string }) {
  const [look, setLook] = useState(plainLook);
  const set = (fields: Partial<Look>) => setLook((before) => ({ ...before, ...fields }));
  const isListed = (assistant.link?.origins.length ?? 0) > 0;
  return (
    <section class="section" aria-label="The widget">
      <h2>The widget</h2>
      <p class="note">
        One line for each page of your site. It loads after the page, stores nothing, and asks for nothing more before
        it is opened.
      </p>
      <Command>{lineOf(snippet, look)}</Command>
      {!isListed && <p class="fault">No site is listed above, so it works nowhere yet.</p>}
      <div class="pair">
        <Input
          label="Button label"
          value={look.label}
          onValue={(label) => set({ label })}
          placeholder="None: an icon"
          maxLength={40}
          autocomplete="off"
        />
        <Choice
          label="Colours"
          value={look.theme}
          onValue={(theme) => set({ theme })}
          choices={[
            ['auto', 'As the visitor’s system'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
        />
        <Input
          label="Accent"
          type="color"
          value={look.accent || standardAccent}
          onValue={(accent) => set({ accent })}
        />
        <Check label="On the left" checked={look.left} onValue={(left) => set({ left })} />
      </div>
      <Preview assistant={assistant} look={look} />
    </section>
  );
}

const standardAccent = '#3d4fd6';

/** Black or white, whichever can be read on the colour. */
function inkOn(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map(
    (place) => (Number.parseInt(colour.slice(place, place + 2), 16) / 255) ** 2.2,
  );
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue! > 0.18 ? '#000' : '#fff';
}

/** The icon of a button without a label. */
const Bubble = () => (
  <svg
    role="img"
    aria-label="Chat"
    width="20"
    height="20"
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linejoin="round"
  >
    <path d="M4 3.5h12a1.5 1.5 0 0 1 1.5 1.5v7.5A1.5 1.5 0 0 1 16 14h-5.5L6 17.5V14H4a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 4 3.5z" />
  </svg>
);

/** A drawing of the widget. The widget itself works only on the allowed origins, which do not include the console. */
function Preview({ assistant: { name, greeting }, look }: { assistant: Assistant; look: Look }) {
  const [open, setOpen] = useState(true);
  const accent = look.accent || standardAccent;
  return (
    <figure class="preview" data-theme={look.theme} data-side={look.left ? 'left' : 'right'}>
      <figcaption>
        <small>Preview</small>
      </figcaption>
      <div class="site">
        <i />
        <i />
        <i />
        <div class="launched">
          {open && (
            <div class="panel">
              <strong>{name}</strong>
              <p>{greeting === null || hasVariables(greeting) ? 'Write a message.' : greeting}</p>
              <span class="box">Message</span>
            </div>
          )}
          <button
            type="button"
            style={{ background: accent, color: inkOn(accent), borderColor: accent }}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            {look.label.trim() || <Bubble />}
          </button>
        </div>
      </div>
    </figure>
  );
}
