// Similar names, for suggestions after "root not found".

import { fuzzyScore } from '../base/fuzzy.ts'

const AT_MOST = 5
/** Minimum fuzzy score per letter of an abbreviation such as OrdSvc: most letters must begin a word or follow the previous match. */
const ABBREVIATION = 4

/**
 * Returns the edit distance, ignoring case. Inserting, deleting, replacing a letter and swapping two adjacent letters cost 1 each.
 *
 * @param limit  if the distance is greater, `limit + 1` is returned without further computation
 */
export function editDistance(a: string, b: string, limit = 100): number {
  const s = a.toLowerCase()
  const t = b.toLowerCase()
  if (Math.abs(s.length - t.length) > limit) return limit + 1
  let before: number[] = []
  let last: number[] = Array.from({ length: t.length + 1 }, (_, j) => j)
  for (let i = 1; i <= s.length; i++) {
    const row = [i]
    let best = i
    for (let j = 1; j <= t.length; j++) {
      const same = s[i - 1] === t[j - 1]
      let cost = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1))
      if (i > 1 && j > 1 && s[i - 1] === t[j - 2] && s[i - 2] === t[j - 1]) {
        cost = Math.min(cost, before[j - 2] + 1)
      }
      row.push(cost)
      if (cost < best) best = cost
    }
    if (best > limit) return limit + 1
    before = last
    last = row
  }
  return last[t.length]
}

/**
 * Returns at most five candidates that are similar to `wanted`, best first. A name that contains `wanted`, or is contained in it, counts as
 * similar for any difference in length. A name that `wanted` abbreviates counts as similar, too, but comes last.
 */
export function nearest(wanted: string, candidates: Iterable<string>): string[] {
  const limit = Math.max(1, Math.floor(wanted.length / 3))
  const scored = new Map<string, number>()
  const lower = wanted.toLowerCase()
  for (const candidate of candidates) {
    if (scored.has(candidate)) continue
    let distance = editDistance(wanted, candidate, limit)
    if (distance > limit && lower.length >= 3) {
      const other = candidate.toLowerCase()
      if (other.includes(lower) || (other.length >= 3 && lower.includes(other))) distance = limit + 0.5
    }
    if (distance > limit + 0.5 && isAbbreviation(wanted, candidate)) distance = limit + ABBREVIATED
    if (distance < limit + 1) scored.set(candidate, distance)
  }
  return [...scored]
    .sort(
      ([a, x], [b, y]) =>
        x - y || prefix(b, lower) - prefix(a, lower) || a.length - b.length || (a < b ? -1 : 1),
    )
    .slice(0, AT_MOST)
    .map(([name]) => name)
}

/** Distance of a name that `wanted` abbreviates. It is greater than the distance of names that contain `wanted`. */
const ABBREVIATED = 0.75

function isAbbreviation(wanted: string, name: string): boolean {
  return wanted.length >= 3 && (fuzzyScore(wanted, name) ?? 0) >= ABBREVIATION * wanted.length
}

/** Returns the length of the common prefix. */
function prefix(name: string, lower: string): number {
  let length = 0
  while (length < lower.length && name[length]?.toLowerCase() === lower[length]) length++
  return length
}
