/**
 * The style sheet of the call bar, loaded with the first call. The place of a hint is never hidden, since screen
 * readers do not announce a change in a place that was.
 */

const style = `
#call { position: relative; display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: 4px 12px; align-items: center; padding: 8px 0; border-top: 1px solid var(--line); outline-offset: 4px; }
#call button { min-height: var(--target); }
#call p { margin: 0; max-width: none; }
#call .mark { position: relative; width: 48px; height: 48px; min-height: 48px; padding: 0; border: 0; border-radius: 50%; background: none; color: var(--soft); display: grid; place-items: center; cursor: default; }
#call .mark:not([aria-disabled="true"]) { cursor: pointer; }
#call .mark svg { width: 40px; height: 40px; overflow: visible; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: butt; }
#call .mark .core { fill: none; stroke: none; transform-origin: center; }
#call :is([data-state="hearing"], [data-state="held"], [data-state="thinking"], [data-state="speaking"], [data-state="paused"]).mark { color: var(--accent); }
#call [data-state="hearing"].mark .ring { stroke-width: calc(2px + 6px * var(--level, 0)); }
#call [data-state="thinking"].mark .ring { stroke-dasharray: 80 28; transform-origin: center; }
#call [data-state="speaking"].mark .core { fill: currentColor; transform: scale(calc(.62 + .3 * var(--level, 0))); }
#call :is([data-state="held"], [data-state="paused"]).mark .ring { stroke-dasharray: 42 11.4; stroke-dashoffset: -5.7; stroke-width: 3; }
#call [data-state="busy"].mark .ring { stroke-dasharray: 6 4.8; }
#call :is([data-state="opening"], [data-state="lost"]).mark .ring { stroke-dasharray: 2 4.75; }
#call .now { min-width: 0; }
#call .doing { display: flex; gap: 12px; font-size: 12.5px; line-height: 20px; color: var(--soft); }
#call .doing .remaining { margin-inline-start: auto; font-variant-numeric: tabular-nums; }
#call .line { display: flex; justify-content: flex-end; width: fit-content; max-width: 100%; min-height: 24px; line-height: 24px; font-size: 14px; overflow: hidden; white-space: pre; }
#call .line.long { mask-image: linear-gradient(to right, transparent, #000 16px); }
#call .line.long:dir(rtl) { mask-image: linear-gradient(to left, transparent, #000 16px); }
#call .line.heard { color: var(--ink); }
#call .line.partial { color: var(--soft); }
#call .line u { text-decoration-color: var(--accent); text-decoration-thickness: 2px; text-underline-offset: 4px; }
#call .line b { color: var(--soft); font-weight: 400; }
#call .keys { display: flex; gap: 4px; align-items: center; }
#call .keys .icon { width: var(--target); padding: 0; border: 1px solid transparent; border-radius: 6px; background: none; color: var(--soft); display: inline-grid; place-items: center; flex: none; }
#call .keys .icon:hover { background: var(--wash); color: var(--ink); }
#call .keys .icon svg { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
#call .keys .icon[aria-pressed="true"], #call .keys .icon[aria-expanded="true"] { background: var(--wash); color: var(--ink); }
#call .keys .icon.hang-up { color: var(--red); border-color: color-mix(in srgb, var(--red) 40%, var(--line)); }
#call .hint { grid-column: 1 / -1; display: flex; gap: 8px 12px; flex-wrap: wrap; align-items: center; font-size: 14px; }
#call .hint:empty { position: absolute; }
.calling:not(.typing) #talk, .calling #talk .beside > [aria-pressed], .calling .action { display: none; }
@media (max-width: 400px) { #call { gap: 4px 8px; } }
@media (max-width: 340px) {
  #call { grid-template-columns: auto minmax(0, 1fr); }
  #call .now { grid-area: 2 / 1 / auto / -1; }
  #call .keys { justify-self: end; }
}
@media (prefers-reduced-motion: no-preference) {
  #call [data-state="thinking"].mark .ring { animation: call-turns 2.4s linear infinite; }
  #call .mark .core, #call .mark .ring { transition: stroke-width 80ms linear, transform 80ms linear; }
}
@keyframes call-turns { to { transform: rotate(360deg); } }
@media (forced-colors: active) { #call .mark { color: CanvasText !important; } }
`;

let sheet: CSSStyleSheet | null = null;

/** Adds the style to the page, once. It is constructed, as the page's policy allows nothing inline. */
export function addStyle(): void {
  if (sheet !== null) return;
  sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
