/** The page is as high as what a person sees of it: where a phone's keyboard covers the page instead of shrinking it, this moves it up. */
export function followViewport(): void {
  const viewport = window.visualViewport;
  if (viewport === null) return;
  const fit = (): void => {
    // Zoomed in, what is seen is a part of the page, and the page stays as it is.
    const covered = Math.abs(viewport.scale - 1) < 0.01 && window.innerHeight - viewport.height > 1;
    document.documentElement.style.setProperty('--height', covered ? `${viewport.height}px` : '100dvh');
    if (covered) window.scrollTo(0, 0);
  };
  viewport.addEventListener('resize', fit);
  fit();
}
