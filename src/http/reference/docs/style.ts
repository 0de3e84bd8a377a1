import { palette } from '../../../pages/palette.ts';

/**
 * Colours and type, which the page has in common with the front page: ink on paper, lines instead of boxes, one accent.
 */
export const ground = `${palette}* { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--ink);
  font: 14px/1.55 ui-sans-serif, system-ui, "Inter", "DejaVu Sans", sans-serif;
}
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
`;

/** The reference's style sheet. */
export const style = `${ground}html { scroll-padding-top: 24px; }
body { display: grid; grid-template-columns: 272px minmax(0, 1fr); }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 8px; z-index: 2; background: var(--ground); padding: 8px; }

nav {
  position: sticky;
  top: 0;
  height: 100vh;
  overflow: auto;
  scrollbar-width: thin;
  padding: 20px 12px 32px;
  border-right: 1px solid var(--line);
}
nav a { display: block; padding: 4px 10px; border-radius: 6px; color: var(--soft); }
nav a:hover { background: var(--wash); color: var(--ink); text-decoration: none; }
nav .brand { font-size: 15px; font-weight: 600; letter-spacing: -.01em; color: var(--ink); }
nav .open { display: none; }
nav h2 { font-size: 12px; font-weight: 600; color: var(--soft); margin: 20px 10px 4px; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav div > ul > li { margin-bottom: 8px; }
nav div > ul > li > a { color: var(--ink); font-weight: 600; }
nav ul ul a { display: grid; grid-template-columns: 44px 1fr; gap: 4px; font-size: 12.5px; line-height: 1.4; }
nav .method { font-size: 10px; font-weight: 400; line-height: 17.5px; }

main { padding: 24px 40px 96px; min-width: 0; }
h1 { font-size: 20px; line-height: 1.3; letter-spacing: -.015em; margin: 0; }
main h2 { font-size: 20px; line-height: 1.3; letter-spacing: -.015em; font-weight: 600; margin: 0 0 4px; }
.introduction h2 { font-size: 14px; letter-spacing: 0; margin: 24px 0 4px; }
h3 { font-size: 14px; margin: 0; }
h3 a { color: inherit; }
h4 { font-size: 12px; font-weight: 600; color: var(--soft); margin: 24px 0 4px; }
p, ul { margin: 8px 0; max-width: 72ch; }
.words ul { padding-left: 20px; }
.facts { color: var(--soft); margin: 0; }
code { font: 12.5px/1.6 var(--mono); }
p code, li code, dd code, td:last-child code { background: var(--wash); padding: 1px 4px; border-radius: 3px; overflow-wrap: anywhere; }
.method { font: 600 12.5px/1.6 var(--mono); }
.final { color: var(--red); }

main > section { padding-bottom: 48px; }
main > section + section { border-top: 1px solid var(--line); padding-top: 40px; }
.area p { color: var(--soft); margin-top: 0; }
article {
  display: grid;
  grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
  column-gap: 48px;
  padding: 28px 0;
}
article + article { border-top: 1px solid var(--line); }
article > header { grid-column: 1 / -1; margin-bottom: 8px; }
article > header p { margin: 0; }
article > header code { font-size: 14px; font-weight: 600; }
article > header .method { font-size: 14px; margin-right: 4px; }
article:target > header h3 { color: var(--accent); }
article:target > header .method { color: inherit; }
.words > :first-child { margin-top: 0; }

.fields { margin: 0; }
.fields > div { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 4px 16px; padding: 7px 0; border-top: 1px solid var(--line); }
.fields > div:first-child { border-top: 0; }
.fields dt code { font-weight: 600; }
.fields dd { margin: 0; color: var(--soft); }
.fields .type { color: var(--ink); overflow-wrap: anywhere; }
details { margin: 8px 0; }
summary { cursor: pointer; color: var(--accent); padding: 5px 0; width: fit-content; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; font-size: 12px; font-weight: 600; color: var(--soft); }
th, td { padding: 7px 16px 7px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
td:first-child { font-variant-numeric: tabular-nums; }
td:nth-child(2) code { white-space: nowrap; }

figure { margin: 0 0 16px; }
figcaption { font-size: 12px; color: var(--soft); margin-bottom: 4px; }
pre { margin: 0; padding: 12px 16px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 560px; white-space: pre-wrap; overflow-wrap: anywhere; scrollbar-width: thin; }
pre code { font-size: 12px; }
.introduction pre { max-width: 72ch; }

@media (max-width: 1179px) {
  article { grid-template-columns: minmax(0, 1fr); }
  .examples { margin-top: 24px; }
  main { padding: 24px 32px 96px; }
}
@media (max-width: 799px) {
  html { scroll-padding-top: 60px; }
  body { grid-template-columns: minmax(0, 1fr); }
  nav { z-index: 1; height: auto; max-height: 100vh; display: flex; flex-wrap: wrap; align-items: center; padding: 0 6px; background: var(--ground); border-right: 0; border-bottom: 1px solid var(--line); }
  nav a { padding: 10px; min-height: 44px; align-content: center; }
  nav .open { display: block; margin-left: auto; color: var(--accent); }
  nav > div { display: none; width: 100%; padding-bottom: 24px; }
  nav:target > div { display: block; }
  main { padding: 16px 16px 64px; }
  summary { padding: 11px 0; }
  .fields > div { grid-template-columns: minmax(0, 1fr); gap: 0; }
  td:nth-child(2) code { white-space: normal; }
  pre { max-height: none; }
}
@media print {
  nav { display: none; }
  body, article { display: block; }
}
`;
