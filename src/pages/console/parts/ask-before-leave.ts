/** Asks for confirmation before the site is left with unsaved changes. */
import { useEffect } from 'preact/hooks';

export function useAskBeforeLeave(dirty: boolean): void {
  useEffect(() => {
    const leave = (event: BeforeUnloadEvent) => dirty && event.preventDefault();
    addEventListener('beforeunload', leave);
    return () => removeEventListener('beforeunload', leave);
  }, [dirty]);
}
