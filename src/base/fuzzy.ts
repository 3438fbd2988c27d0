// Fuzzy matching of names, as editors have it: the letters that were typed occur in the name in that order, best where
// words of the name begin. `osproc` finds `shop.OrderService.process`.

import { maxOf } from './arrays.ts'

export interface FuzzyMatch {
  readonly text: string
  /** Higher is better. */
  readonly score: number
}

const BEGIN = 8
const NEXT = 5
const ANY = 1
const SAME_CASE = 1
/** What a letter costs that lies between two that match. */
const GAP = 0.2
/** What each character of a name costs: of two that match alike, the shorter one is meant. */
const LENGTH = 0.02

/**
 * How well a name fits what was typed; null if it does not.
 *
 * Letters are compared without case. The best way to place them is found, not the first: in O(typed × name).
 */
export function fuzzyScore(typed: string, name: string): number | null {
  const wanted = typed.toLowerCase()
  const lower = name.toLowerCase()
  if (wanted.length === 0) return -LENGTH * name.length
  if (wanted.length > lower.length || !hasInOrder(wanted, lower)) return null
  // best[j]: the score so far with the latest letter at j; -∞ where it is not.
  let best = new Float64Array(lower.length).fill(Number.NEGATIVE_INFINITY)
  for (let i = 0; i < wanted.length; i++) {
    const row = new Float64Array(lower.length).fill(Number.NEGATIVE_INFINITY)
    let before = Number.NEGATIVE_INFINITY // the best of the row before, with the gap up to here
    for (let j = 0; j < lower.length; j++) {
      if (i > 0 && j > 1) before = Math.max(before, best[j - 2]!) - GAP
      if (wanted[i] !== lower[j]) continue
      const here = (isBegin(name, j) ? BEGIN : ANY) + (typed[i] === name[j] ? SAME_CASE : 0)
      const above = i === 0 ? 0 : Math.max(before, j > 0 ? best[j - 1]! + NEXT : Number.NEGATIVE_INFINITY)
      row[j] = above + here
    }
    best = row
  }
  const score = maxOf(best)
  return score === Number.NEGATIVE_INFINITY ? null : score - LENGTH * name.length
}

/** The best `most` of the names that match, best first; of equals the one that comes first in the alphabet. */
export function fuzzyBest(typed: string, names: Iterable<string>, most: number): FuzzyMatch[] {
  const found: FuzzyMatch[] = []
  for (const text of names) {
    const score = fuzzyScore(typed, text)
    if (score !== null) found.push({ text, score })
  }
  found.sort((a, b) => b.score - a.score || (a.text < b.text ? -1 : 1))
  return found.slice(0, most)
}

function hasInOrder(wanted: string, lower: string): boolean {
  let at = -1
  for (const letter of wanted) {
    at = lower.indexOf(letter, at + 1)
    if (at < 0) return false
  }
  return true
}

/** A word begins at the start, behind what is no letter, and at a capital behind a small letter. */
function isBegin(name: string, at: number): boolean {
  if (at === 0) return true
  const before = name[at - 1]!
  if (/[.$/_<]/.test(before)) return true
  return /[A-Z]/.test(name[at]!) && !/[A-Z]/.test(before)
}
