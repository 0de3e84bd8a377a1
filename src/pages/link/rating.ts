/** The two buttons that rate a reply. */
import type { Feedback } from '../../client/types.ts';
import { iconButton } from '../dom.ts';
import type { Words } from '../words.ts';

export type Rating = Feedback['rating'];

const up =
  'M4.5 7.5v6h-2.5v-6zM4.5 7.5l2.8-5.3c1 0 1.8.8 1.8 1.8v2.5h3.4c.9 0 1.5.8 1.3 1.6l-.9 4.2c-.2.7-.8 1.2-1.5 1.2h-6.9';
const down =
  'M4.5 8.5v-6h-2.5v6zM4.5 8.5l2.8 5.3c1 0 1.8-.8 1.8-1.8v-2.5h3.4c.9 0 1.5-.8 1.3-1.6l-.9-4.2c-.2-.7-.8-1.2-1.5-1.2h-6.9';

interface RatingOptions {
  readonly words: Words;
  /** The rating that the service has. */
  readonly rating: Rating | null;
  /** Stores the rating, or removes it; rejects if that fails. */
  rate(rating: Rating | null): Promise<void>;
}

/** A press on the chosen button takes the rating back. A rating that could not be stored is not shown. */
export function ratingButtons({ words, rating, rate }: RatingOptions): HTMLButtonElement[] {
  let shown = rating;
  const show = (): void => buttons.forEach(([name, made]) => made.setAttribute('aria-pressed', String(name === shown)));
  const press = async (pressed: Rating): Promise<void> => {
    const before = shown;
    shown = pressed === before ? null : pressed;
    const wanted = shown;
    show();
    await rate(wanted).catch(() => {
      if (shown === wanted) shown = before;
    });
    show();
  };
  const buttons = (
    [
      ['up', words.rateUp, up],
      ['down', words.rateDown, down],
    ] as const
  ).map(([name, label, picture]) => [name, iconButton(label, picture, () => void press(name), 'action')] as const);
  show();
  return buttons.map(([, made]) => made);
}
