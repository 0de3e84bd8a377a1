/** The widget's place: in a page whose scripts replace its body, and on a phone's screen of which the keyboard takes a part. */
import { bare } from './parts.ts';

/** A script that takes it out again and again wants it out. */
const placingsMax = 50;

/** `selector` says where it belongs; `placed` is called whenever it has been put there. Returns the function that ends it. */
export function keepPlaced(host: HTMLElement, selector: string | undefined, placed: () => void): () => void {
  let left = placingsMax;
  const place = (): void => {
    const parent = document.querySelector(selector ?? 'body');
    if (host.isConnected || !parent || !left--) return;
    parent.append(host);
    observer.observe(parent, bare({ childList: true }));
    placed();
  };
  const observer = new MutationObserver(place);
  observer.observe(document.documentElement, bare({ childList: true, subtree: !!selector }));
  place();
  return () => {
    observer.disconnect();
    host.remove();
  };
}

/**
 * Shows the panel so, also where it was taken out of the page meanwhile; its frame stays where it is, and keeps its page. A frame cannot
 * see the keyboard, which covers part of what is fixed to the screen; a person who zooms in wants no smaller frame. All else is out of reach
 * only once there is a page with a way back.
 */
export function layPanel(panel: HTMLDialogElement, isFull: boolean, hasMet: boolean): void {
  if (!panel.isConnected) return;
  panel.className = isFull ? 'full' : '';
  const isModal = isFull && hasMet;
  if (!panel.open || panel.matches(':modal') !== isModal) {
    panel.close();
    if (isModal) panel.showModal();
    else panel.show();
  }
  const { offsetTop, offsetLeft, width, height, scale } = visualViewport!;
  panel.style.cssText = isFull && scale < 1.05 ? `top:${offsetTop}px;left:${offsetLeft}px;width:${width}px;height:${height}px` : '';
}
