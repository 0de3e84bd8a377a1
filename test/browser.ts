/** A real browser for the tests of pages, where one is installed. */
import { spawnSync } from 'node:child_process';

const installed = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout?.trim()).find(Boolean);

/** The path of the browser; what needs one is skipped with `whyNoBrowser` where there is none. */
export const browserPath: string | undefined = installed;
export const whyNoBrowser: string | false = installed === undefined ? 'Chromium is not installed' : false;

/** How far the page is wider than its window, in pixels: a script for the page. */
export const overflow = 'document.documentElement.scrollWidth - innerWidth';

/** The elements whose text has less contrast than 4.5 : 1 to the colour behind it: a script for the page (WCAG 2.2, 1.4.3). */
export const faintTexts = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => {
    const [r, g, b] = channels(color).slice(0, 3).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    if (element === null) return 'rgb(255, 255, 255)';
    const { backgroundColor } = getComputedStyle(element);
    return channels(backgroundColor)[3] === 0 ? behind(element.parentElement) : backgroundColor;
  };
  const faint = new Set();
  for (const element of document.querySelectorAll('body *')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '')) continue;
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    if ((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5) faint.add(element.tagName + '.' + element.className);
  }
  return [...faint];
})()`;
