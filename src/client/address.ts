/** Addresses of servers, as users write them. */

/** The address without the slashes at its end. The character before them makes each run of slashes be read once. */
export const withoutSlashes = (address: string): string => address.replace(/([^/])\/+$/, '$1');
