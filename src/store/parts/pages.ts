/** Types that the parts of a store share: versions and pages of records. */

/** A record with the number that a later write is compared against. */
export interface Versioned<T> {
  readonly record: T;
  readonly version: number;
}

export interface Page<T> {
  readonly items: T[];
  /** Start of the next page; null at the end. */
  readonly next: string | null;
}

export interface PageRequest {
  readonly limit: number;
  /** A cursor of an earlier page; its item may have been deleted since. */
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
}
