/**
 * The widget's place: in a page whose scripts replace its body, rewrite it or zoom it, and on a phone's screen that the
 * keyboard partly covers.
 */
import { bare } from './parts.ts';

/** A script that takes it out again and again wants it out. */
const placingsMax = 50;

/**
 * `selector` says where it belongs; `placed` is called whenever it has been put there, and `zoomed` whenever the page
 * may have another zoom. `written` is called once, in place of both, when `document.write` has put another document in
 * the place of this one: that has taken all listeners away. Returns the function that ends it.
 */
export function keepPlaced(
  host: HTMLElement,
  selector: string | undefined,
  placed: () => void,
  zoomed: () => void,
  written: () => void,
): () => void {
  let left = placingsMax;
  const page = document.documentElement;
  // A conversation within the page has the page's zoom.
  const attributeFilter = selector ? undefined : ['style', 'class'];
  const place = (): void => {
    const parent = document.querySelector(selector ?? 'body');
    if (!page.isConnected) {
      if (parent) written();
      // The new document is still being written.
      else observer.observe(document, bare({ childList: true, subtree: true }));
      return;
    }
    zoomed();
    if (host.isConnected || !parent || !left--) return;
    parent.append(host);
    observer.observe(parent, bare({ childList: true, attributeFilter }));
    placed();
  };
  const observer = new MutationObserver(place);
  observer.observe(document, bare({ childList: true }));
  observer.observe(page, bare({ childList: true, subtree: !!selector, attributeFilter }));
  place();
  return () => {
    observer.disconnect();
    host.remove();
  };
}

/** Returns the factor by which the `zoom` of the site's elements enlarges an element. */
export function zoomOf({ parentElement }: Element): number {
  return parentElement ? (+getComputedStyle(parentElement).zoom || 1) * zoomOf(parentElement) : 1;
}

/**
 * Shows the panel so, also where it was taken out of the page meanwhile; its frame stays where it is, and keeps its
 * page. A frame cannot see the keyboard, which covers part of what is fixed to the screen; a person who zooms in wants
 * no smaller frame. All else is out of reach only once there is a page with a way back.
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
  panel.style.cssText =
    isFull && scale < 1.05 ? `top:${offsetTop}px;left:${offsetLeft}px;width:${width}px;height:${height}px` : '';
}
