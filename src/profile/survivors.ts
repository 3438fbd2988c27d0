// Objects alive at the target's last check (--liveness), per context or class.

import { isAllocation } from '../cct/allocation.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { wordsOf } from './cost-text.ts'
import { count, percent, right, shortName } from './text.ts'

/** Columns of a tree with tracked objects. The row of a method contains the objects that the method itself allocated. */
export const LIVE_COLUMNS = ['liveObjects', 'liveBytes', 'age'] as const

export interface SurvivorRow {
  /** Id of the class. */
  readonly method: number
  /** A class node in the merged tree, below the allocating method. For `class` rows: any node of the class. */
  readonly node: number
  /** Number of live objects; an estimate if only a fraction of the objects is tracked. */
  readonly liveObjects: number
  readonly liveBytes: number
  /** Average number of garbage collections that the objects have survived. */
  readonly age: number
}

/** Returns rows, most live bytes first. `context`: one row per class and tree position. `class`: one row per class. */
export function survivorsOf(
  tree: Tree,
  nameOf: (method: number) => MethodName,
  by: 'context' | 'class',
): SurvivorRow[] {
  const { liveObjects, liveBytes, age } = tree.metrics
  if (!liveObjects || !liveBytes || !age) return []
  const rows = new Map<number, SurvivorRow>()
  for (let node = 0; node < tree.count; node++) {
    const method = tree.method[node]!
    if (liveObjects[node] === 0 || !isAllocation(nameOf(method))) continue
    const key = by === 'class' ? method : node
    const known = rows.get(key) ?? { method, node, liveObjects: 0, liveBytes: 0, age: 0 }
    const objects = known.liveObjects + liveObjects[node]!
    rows.set(key, {
      ...known,
      liveObjects: objects,
      liveBytes: known.liveBytes + liveBytes[node]!,
      age: (known.age * known.liveObjects + age[node]! * liveObjects[node]!) / objects,
    })
  }
  return [...rows.values()].sort((a, b) => b.liveBytes - a.liveBytes || a.node - b.node)
}

/** Maximum number of callers named per context. */
const CALLERS = 3
const NUMBER_CELLS = 40

export const survivorHeader = `${right('live B', 9)}  % live    objects${right('age', 9)}   class, below it the allocating method and its callers`

/** Yields two lines per context, of at most `cells` each: numbers and class; allocating method and its callers. */
export function* survivorLines(
  tree: Tree,
  nameOf: (method: number) => MethodName,
  most: number,
  cells: number,
): Generator<readonly [numbers: string, name: string, context: string]> {
  const rows = survivorsOf(tree, nameOf, 'context')
  const whole = rows.reduce((sum, { liveBytes }) => sum + liveBytes, 0)
  const nameCells = Math.max(16, cells - NUMBER_CELLS)
  for (const { method, node, liveObjects, liveBytes, age } of rows.slice(0, most)) {
    const numbers = [
      right(wordsOf(METRICS.alloc).cost(liveBytes), 9),
      right(percent(liveBytes, whole), 8),
      right(count(liveObjects, 10), 11),
      right(age < 100 ? age.toFixed(1) : count(age), 9),
    ].join('')
    const callers: string[] = []
    let above = tree.parent[node]!
    for (; above >= 0 && callers.length < CALLERS; above = tree.parent[above]!) {
      const more = callers.join(' < ')
      const room = cells - 8 - more.length - (more === '' ? 0 : 3)
      if (callers.length > 0 && room < 16) break
      callers.push(shortName(nameOf(tree.method[above]!), Math.min(room, 40)))
    }
    yield [numbers, shortName(nameOf(method), nameCells), `    in ${callers.join(' < ')}`]
  }
}
