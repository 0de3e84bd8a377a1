/** Addresses of servers, as users write them. */

/** The address without the slashes at its end. A pattern would have to look behind, which some browsers cannot. */
export function withoutSlashes(address: string): string {
  let end = address.length;
  while (address[end - 1] === '/') end--;
  return address.slice(0, end);
}
