// Fuzzy matching of names, as in editors: the typed letters must occur in the name in the same order. Letters that match at the start of a
// word get the highest score. For example, `osproc` finds `shop.OrderService.process`.

import { maxOf } from './arrays.ts'

export interface FuzzyMatch {
  readonly text: string
  /** Quality of the match. A higher number is a better match. */
  readonly score: number
}

const BEGIN = 8
const NEXT = 5
const ANY = 1
const SAME_CASE = 1
/** Penalty per letter of the name that lies between two matched letters and does not match. */
const GAP = 0.2
/** Penalty per character of the name, so that of two otherwise equal matches the shorter name is first. */
const LENGTH = 0.02

/**
 * Returns the score of a name for the typed text; null if the name does not match. Ignores case. If the letters can match at several
 * positions, the positions with the highest score count. Takes O(typed.length × name.length) time.
 */
export function fuzzyScore(typed: string, name: string): number | null {
  const wanted = typed.toLowerCase()
  const lower = name.toLowerCase()
  if (wanted.length === 0) return -LENGTH * name.length
  if (wanted.length > lower.length || !hasInOrder(wanted, lower)) return null
  // best[j]: score of the letters up to the current typed letter if this letter matches at j; -∞ if it does not match at j.
  let best = new Float64Array(lower.length).fill(Number.NEGATIVE_INFINITY)
  for (let i = 0; i < wanted.length; i++) {
    const row = new Float64Array(lower.length).fill(Number.NEGATIVE_INFINITY)
    let before = Number.NEGATIVE_INFINITY // best score of the previous letter at an earlier position, minus the penalty for the gap
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

/** Returns at most `most` matches, best first. Matches of equal score are in alphabetical order. */
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

/** Returns whether a word begins here: at the start, after a non-letter, or at a capital after a small letter. */
function isBegin(name: string, at: number): boolean {
  if (at === 0) return true
  const before = name[at - 1]!
  if (/[.$/_<]/.test(before)) return true
  return /[A-Z]/.test(name[at]!) && !/[A-Z]/.test(before)
}
