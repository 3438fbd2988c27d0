// Selection of the shown calls (all calls, all slow calls, or one slow call), and the page where the user selects them.

import type { RootCallTimes } from '../cct/root-calls.ts'
import type { SlowCallTimes, SlowTimes, SlowWant } from '../cct/slow-times.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { callCost } from '../profile/root-calls.ts'
import { callFacts, inLines, slowCountText, thresholdText, treePartText } from '../profile/slow-calls.ts'
import { clean, count, pad, right, shortName, span, width } from './format.ts'
import { run } from './frame-lines.ts'
import type { Line } from './screen.ts'

/** All calls, all slow calls, or the slow call with this number. */
type Chosen = 'all' | 'slow' | number

export class SlowChoice {
  /** Slow calls of the newest snapshot; undefined if slow calls are not kept. */
  slow: SlowTimes | undefined
  #chosen: Chosen = 'all'
  /** Selected entry of the page. Stored as a call number, not as a line, since lines move when slower calls end. */
  #selected: Chosen = 'all'
  /** Last line of the selection. It is selected if the selected call is no longer listed. */
  #line = 0

  get isOfAll(): boolean {
    return this.#chosen === 'all'
  }

  /**
   * Returns the data about slow calls to request from the session; undefined if no data are needed.
   *
   * @param isAwaited  whether the view will pause at the next slow call
   */
  want(isListed: boolean, isAwaited: boolean): SlowWant | undefined {
    if (this.#chosen === 'slow') return isAwaited ? 'tree and latest' : 'tree'
    if (this.#chosen !== 'all') return { call: this.#chosen, ...(isAwaited && { andLatest: true }) }
    return isAwaited ? 'latest' : isListed ? 'figures' : undefined
  }

  /** Index of the selected line of the page. */
  get line(): number {
    const { slow } = this
    const selected = this.#selected
    if (slow === undefined || selected === 'all') return 0
    if (selected === 'slow') return 1
    const at = listed(slow).findIndex((it) => it.number === selected)
    return at < 0 ? Math.min(this.#line, this.#lines - 1) : at + 2
  }

  move(lines: number): void {
    this.#select(Math.max(0, Math.min(this.line + lines, this.#lines - 1)))
  }

  /** Number of selectable lines of the page. */
  get #lines(): number {
    return this.slow === undefined ? 1 : 2 + listed(this.slow).length
  }

  #select(line: number): void {
    this.#line = line
    if (line === 0 || this.slow === undefined) this.#selected = 'all'
    else this.#selected = listed(this.slow)[line - 2]?.number ?? 'slow'
  }

  /** Shows the calls of a line of the page. */
  choose(line: number): void {
    this.#select(line)
    this.#chosen = this.#selected
  }

  chooseCall(number: number): void {
    this.#chosen = number
  }

  chooseAll(): void {
    this.#chosen = 'all'
  }

  /** Selects the line of the calls that are shown. */
  open(): void {
    const at = this.slow === undefined ? -1 : listed(this.slow).findIndex((it) => it.number === this.#chosen)
    this.#select(this.#chosen === 'all' ? 0 : at < 0 ? 1 : at + 2)
  }

  get #call(): SlowCallTimes | undefined {
    const { slow } = this
    if (slow === undefined) return undefined
    return [...listed(slow), ...(slow.latest === null ? [] : [slow.latest])].find(
      (it) => it.number === this.#chosen,
    )
  }

  /** Tree of the chosen calls. Undefined if the tree is not yet in a snapshot, or no longer kept. */
  get tree(): Tree | undefined {
    return this.#chosen === 'slow' ? this.slow?.tree : this.#call?.tree
  }

  /** Returns the text for the status line; an empty text if all calls are shown. */
  title(isWide: boolean): string {
    const { slow } = this
    if (this.#chosen === 'all') return ''
    if (slow === undefined) return 'slow calls'
    if (this.#chosen === 'slow') {
      const part = treePartText(slow)
      const calls = part === null ? slowCountText(slow) : `slow calls: ${part}`
      return `${calls} ${isWide ? thresholdText(slow) : ''}`.trim()
    }
    const call = this.#call
    if (call === undefined) return 'a slow call'
    const time = callCost(call.time, slow.unit)
    return isWide ? `slow call of ${time}, ${clean(call.thread.name)}` : `slow call of ${time}`
  }

  /** Reason why `tree` is undefined. */
  get nothing(): string {
    const { slow } = this
    if (slow === undefined) return 'No slow call yet: slow calls are kept from now on.'
    if (this.#chosen !== 'slow')
      return 'The tree of this call is no longer kept, or was too large. Press S to choose another call.'
    if (slow.treeFromMs !== undefined)
      return 'No slow call has ended since the timed methods changed. Press S to choose an earlier call.'
    if (slow.count > 0)
      return 'A time range has no common tree of its slow calls. Press S to choose one call.'
    const yet =
      slow.threshold === 'threw'
        ? 'no exception has ended a root call'
        : slow.thresholdNow === null
          ? 'p99 needs at least 100 calls'
          : 'all calls since the threshold was known were faster'
    return `No slow call has ended yet: ${yet}. Press S to choose other calls.`
  }
}

export function slowPage(
  { slow, line }: SlowChoice,
  all: RootCallTimes | undefined,
  columns: number,
  nameOf: (id: number) => MethodName,
): Line[] {
  const took = (cost: string, at: string, text: string) => `${right(cost, 11)}${right(at, 10)}  ${text}`
  const unit = slow?.unit ?? all?.unit ?? 'ns'
  const mean = all === undefined || all.count === 0 ? '-' : `~${callCost(all.mean, unit)}`
  const texts = [took(mean, '', `average of all ${count(all?.count ?? 0)} finished calls`)]
  if (slow !== undefined) {
    const part = treePartText(slow)
    const inTree = part === null ? '' : ` (tree: ${part})`
    texts.push(took('', '', `${slowCountText(slow)}${inTree} ${thresholdText(slow, all?.count)}`))
    for (const it of listed(slow)) {
      const facts = callFacts(it, slow, nameOf).call.join('  ')
      const root = shortName(nameOf(it.method), Math.max(16, columns - 25 - facts.length))
      // The name of the exception may be cut, so the line begins with the fact.
      const threw = it.threw === undefined ? '' : 'threw  '
      texts.push(took(callCost(it.time, unit), span(it.atMs), `${threw}${root}  ${facts}`))
    }
  }
  // Each call has one line. Below the selected call are the facts that its line does not show.
  const selected = slow === undefined ? undefined : listed(slow)[line - 2]
  const facts = selected === undefined ? null : callFacts(selected, slow!, nameOf)
  const room = columns - CALL_COLUMNS
  const cutFacts = facts !== null && width(texts[line]!) > columns ? inLines(facts.call, '  ', room) : []
  const more = facts === null ? [] : [...cutFacts, ...inLines(facts.origin, '; ', room)]
  const below = more.map((text): Line => [run(pad(' '.repeat(CALL_COLUMNS) + text, columns), 'plain')])
  return [
    [run(pad(took('latency', 'ended at', 'root calls (Enter shows their tree)'), columns), 'header')],
    ...texts.flatMap((text, i): Line[] =>
      i === line ? [[run(pad(text, columns), 'selected')], ...below] : [[run(pad(text, columns), 'plain')]],
    ),
  ]
}

/** Width of the duration and the end of a call. */
const CALL_COLUMNS = 23

/** Calls of the page: the slowest calls, then the latest calls that an exception ended and that are not among the slowest. */
function listed({ slowest, threw }: SlowTimes): readonly SlowCallTimes[] {
  const known = new Set(slowest.map((it) => it.number))
  return [...slowest, ...(threw?.latest ?? []).filter((it) => !known.has(it.number))]
}
