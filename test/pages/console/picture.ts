/** A picture of a page of the console. */
import type { Page } from 'playwright-core';
import { settled, type Console } from './console.ts';

export interface Picture {
  readonly name: string;
  readonly colorScheme: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly path: readonly string[];
  /** Prepares the page before the picture is taken. */
  readonly set?: (page: Page, console: Console) => Promise<void>;
}

/** Takes it; resolves with what the page complained of. */
export async function take(
  console: Console,
  { colorScheme, width = 1440, height = width < 720 ? 760 : 800, path, set }: Picture,
  file: string,
): Promise<string[]> {
  const { page, complaints, context } = await console.open({ width, colorScheme });
  await page.setViewportSize({ width, height });
  await page.goto(console.url(...path));
  await settled(page);
  await set?.(page, console);
  await page.screenshot({ path: file });
  await context.close();
  return complaints;
}
