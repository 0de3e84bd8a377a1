/** The style sheet of the link's pages: ink on paper, lines instead of boxes, one accent, as on all our pages. */
export const style = `:root {
  color-scheme: light dark;
  --ground: light-dark(#fafaf8, #131316);
  --sheet: light-dark(#fff, #1a1a1e);
  --line: light-dark(#8a8986, #6b6b75);
  --ink: light-dark(#1b1b1f, #ececf0);
  --soft: light-dark(#66656c, #9a99a3);
  --accent: light-dark(#3d4fd6, #8b97ff);
  --wash: light-dark(#efeeea, #232328);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { display: flex; flex-direction: column; max-inline-size: 44rem; min-block-size: 100dvh; margin: 0 auto; padding: 24px 20px; }
h1 { margin: 0; font-size: 1.25rem; line-height: 1.3; }
p { margin: 4px 0 0; overflow-wrap: anywhere; }
#description, #notice { color: var(--soft); }
#messages { flex: 1; margin: 24px 0 0; padding: 0; list-style: none; }
#messages li { margin: 0 0 16px; white-space: pre-wrap; overflow-wrap: anywhere; }
#messages .user { margin-inline-start: 15%; padding: 8px 12px; border-radius: 8px; background: var(--wash); }
label { display: block; margin: 0 0 12px; }
input, textarea, button { inline-size: 100%; padding: 8px 12px; border: 1px solid var(--line); border-radius: 8px; background: var(--sheet); color: inherit; font: inherit; }
input[type="checkbox"] { inline-size: auto; }
textarea { resize: vertical; }
button { inline-size: auto; margin-block-start: 8px; border-color: var(--accent); color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[hidden] { display: none; }
`;
