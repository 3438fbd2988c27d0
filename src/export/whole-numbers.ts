// Rounds costs to whole numbers with correct sums.

/**
 * Rounds a column so that the sum of every subtree is off by at most one: the rounding error of a node is carried to the next node. Zero
 * stays zero. Must be called node by node, in preorder.
 *
 * @param scale  factor for each value: 0.001 from nanoseconds to microseconds
 */
export function wholeNumbers(values: Float64Array, scale = 1): (node: number) => number {
  let exact = 0
  let given = 0
  return (node) => {
    exact += values[node]! * scale
    const whole = Math.round(exact) - given
    given += whole
    return whole
  }
}
