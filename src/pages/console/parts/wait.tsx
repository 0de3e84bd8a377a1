/** A wait that shows itself, once it is long enough to be noticed. */
export const Wait = ({ what = 'Loading' }: { what?: string }) => (
  <p class="wait" role="status">
    {what} …
  </p>
);
