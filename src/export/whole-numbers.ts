// Costs as whole numbers that add up.

/**
 * The column rounded so that every subtree's sum is right to one, however many nodes it has: what rounding one node takes
 * away, the next one gets. Zero stays zero. To be asked node by node, in preorder.
 *
 * @param scale  each value is multiplied by it first: 0.001 for microseconds of nanoseconds
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
