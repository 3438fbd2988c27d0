/** Returns a number as text, such as "26,856". The first `toLocaleString` takes 30 ms, which would delay an attach. */
export function thousands(value: number): string {
  return value.toString().replace(/\B(?=(\d{3})+$)/g, ',')
}
