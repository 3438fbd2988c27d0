// The tabs of the page, in their order. A tab without data is absent.

import type { PageData } from './page-data.ts'

/** `tree`: shows the selected tree. `list`: shows the lists of this name. */
const TABS = [
  ['changes', 'Changes', 'list'],
  ['flame', 'Flame graph', 'tree'],
  ['tree', 'Tree', 'tree'],
  ['hot', 'Hot methods', 'tree'],
  ['callers', 'Callers', 'tree'],
  ['latency', 'Latency', 'list'],
  ['slow', 'Slow calls', 'list'],
  ['locks', 'Locks', 'list'],
  ['timeline', 'Timeline', 'timeline'],
  ['traces', 'Traces', 'list'],
  ['cost', 'Session cost', 'list'],
] as const

export interface Tab {
  readonly name: string
  readonly title: string
}

/** Returns the tabs for which the page has data. */
export function tabsOf({ trees, lists, timeline }: PageData): Tab[] {
  const has = (name: string, kind: (typeof TABS)[number][2]): boolean => {
    if (kind === 'tree') return (trees[0]?.count ?? 0) > 0
    return kind === 'list' ? (lists[name]?.length ?? 0) > 0 : timeline !== undefined
  }
  return TABS.filter(([name, , kind]) => has(name, kind)).map(([name, title]) => ({ name, title }))
}

/** Returns the panels of the page. The script fills the panels of trees also if the trees are empty. */
export function panelsOf(data: PageData): string[] {
  const shown = new Set(tabsOf(data).map(({ name }) => name))
  return TABS.filter(([name, , kind]) => kind === 'tree' || shown.has(name)).map(([name]) => name)
}
