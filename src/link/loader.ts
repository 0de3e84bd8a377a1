/**
 * The widget's loader (contract 9): a launcher in a shadow root, and at its first opening a frame that is the link's page. It makes no
 * request until then, stores nothing, and needs no more of the site's policy than this origin in `script-src` and `frame-src`.
 */
/** Where the site has a rule for every element, only an important one of the shadow root's own is stronger. */
const important = (declarations: readonly string[]): string => declarations.map((declaration) => `${declaration} !important`).join('; ');

const place = ['all: initial', 'display: block', 'position: fixed', 'inset-block-end: 20px', 'inset-inline-end: 20px', 'z-index: 2147483647', 'font: 16px/1.5 system-ui, sans-serif'];

const style = `:host { ${important(place)} }
button { all: unset; box-sizing: border-box; display: block; margin-inline-start: auto; padding: 10px 18px; border-radius: 24px; background: #3d4fd6; color: #fff; cursor: pointer; }
button:focus-visible { outline: 3px solid #8b97ff; outline-offset: 2px; }
iframe { box-sizing: border-box; display: block; inline-size: min(400px, calc(100vw - 40px)); block-size: min(600px, calc(100dvh - 120px)); margin-block-end: 12px; border: 1px solid #8a8986; border-radius: 12px; background: #fafaf8; }
[hidden] { display: none; }`;

export const loader = `(() => {
  'use strict';
  const tag = document.currentScript;
  const slug = tag && tag.getAttribute('data-slug');
  if (!slug) return;
  const page = new URL('/p/' + encodeURIComponent(slug) + '/frame?host=' + encodeURIComponent(location.origin), tag.src).href;
  const label = tag.getAttribute('data-label') || 'Chat';
  const host = document.createElement('div');
  const root = host.attachShadow({ mode: 'closed' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(${JSON.stringify(style)});
  root.adoptedStyleSheets = [sheet];
  const button = document.createElement('button');
  let frame = null;
  const show = (open) => {
    if (open && frame === null) {
      frame = document.createElement('iframe');
      frame.title = label;
      frame.allow = 'microphone';
      frame.src = page;
      root.prepend(frame);
    }
    if (frame !== null) frame.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
  };
  button.type = 'button';
  button.textContent = label;
  button.addEventListener('click', () => show(frame === null || frame.hidden));
  root.addEventListener('keydown', (event) => { if (event.key === 'Escape') show(false); });
  show(false);
  root.append(button);
  const attach = () => document.body.append(host);
  if (document.body) attach();
  else addEventListener('DOMContentLoaded', attach);
})();
`;
