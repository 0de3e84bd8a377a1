/** Today's use of a public link's limits, polled every 5 seconds while it is shown. */
import { useEffect, useState } from 'preact/hooks';
import { ApiFailure, request } from '../api.ts';
import { repeatedly } from '../clock.ts';
import type { Assistant, LinkStatus } from '../types.ts';

export interface LinkUse {
  readonly status: LinkStatus;
  /** Whether a proxy that nobody has named hides the visitors' addresses, so that they have one between them. */
  readonly addressesShared: boolean;
}

/** Null without a link, and until it is known. */
export function useLinkUse(path: string, assistant: Assistant | null): LinkUse | null {
  const slug = assistant?.link?.slug ?? null;
  const [use, setUse] = useState<LinkUse | null>(null);
  useEffect(() => {
    setUse(null);
    if (slug === null) return;
    let ended = false;
    const read = async (): Promise<void> => {
      try {
        const answer = await request(`${path}/link`);
        const status: LinkStatus = await answer.json();
        if (!ended) setUse({ status, addressesShared: answer.headers.get('x-visitor-addresses') === 'shared' });
      } catch (error) {
        // The last known use stays until the next poll.
        if (!(error instanceof ApiFailure)) throw error;
      }
    };
    void read();
    const end = repeatedly(5000, read);
    return () => {
      ended = true;
      end();
    };
  }, [path, slug]);
  return use;
}
