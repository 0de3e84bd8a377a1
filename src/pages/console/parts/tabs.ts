/** Tabs on a phone are one line that scrolls: the chosen one is brought into sight. */
import { useEffect, useRef } from 'preact/hooks';

export function useTabs(chosen: string) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const tab = nav.current?.querySelector<HTMLElement>('[aria-current="page"]');
    if (tab) nav.current!.scrollLeft = tab.offsetLeft - (nav.current!.clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  return nav;
}
