// Rounds costs to whole numbers with correct sums.

/**
 * Returns a function: the rounded value of a node. The rounding error of a node is carried to the next node, so the sum of every subtree
 * is wrong by at most one. A value of 0 stays 0. The function must be called for every node, in preorder.
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
