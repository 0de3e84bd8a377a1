/** Aligns two versions of a text, word by word or sound by sound, with the fewest differences. */

/**
 * Returns for each item of `actual` the index of its counterpart in `expected`. An item without a counterpart gets the
 * index of the item before it, or at the start the index of the item after it. -1 if `expected` is empty.
 */
export function counterparts(expected: readonly string[], actual: readonly string[]): number[] {
  const width = actual.length + 1;
  // Least number of differences between the first `i` of one and the first `j` of the other.
  const costs = new Uint16Array((expected.length + 1) * width);
  for (let j = 0; j < width; j++) costs[j] = j;
  for (let i = 1; i <= expected.length; i++) {
    costs[i * width] = i;
    for (let j = 1; j < width; j++) {
      const same = costs[(i - 1) * width + j - 1]! + (expected[i - 1] === actual[j - 1] ? 0 : 1);
      costs[i * width + j] = Math.min(same, costs[(i - 1) * width + j]! + 1, costs[i * width + j - 1]! + 1);
    }
  }
  return spread(trace(costs, expected, actual));
}

/** Counterparts along the cheapest path; -1 without one. */
function trace(costs: Uint16Array, expected: readonly string[], actual: readonly string[]): number[] {
  const width = actual.length + 1;
  const indexes = new Array<number>(actual.length).fill(-1);
  for (let [i, j] = [expected.length, actual.length]; i > 0 && j > 0;) {
    const here = costs[i * width + j]!;
    if (here === costs[(i - 1) * width + j - 1]! + (expected[i - 1] === actual[j - 1] ? 0 : 1)) indexes[--j] = --i;
    else if (here === costs[(i - 1) * width + j]! + 1) i--;
    else j--;
  }
  return indexes;
}

function spread(indexes: number[]): number[] {
  const first = indexes.find((index) => index >= 0) ?? -1;
  let last = first;
  return indexes.map((index) => (last = index >= 0 ? index : last));
}
