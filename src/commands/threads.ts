// jfluid threads: one thread dump of a JVM, grouped by stack, with states, locks and deadlocks.

import { append } from '../base/arrays.ts'
import type { Flags } from '../options/table.ts'
import { commandJson } from '../profile/command-json.ts'
import { clean, cut, plural, right, width, wrap } from '../profile/text.ts'
import { type JvmThreads, threadsOf, type VirtualFacts } from '../session/why/jvm-threads.ts'
import { STATE_NAMES } from '../session/why/text.ts'
import type { StackGroup } from '../session/why/thread-groups.ts'
import type { ThreadText } from '../tui/thread-page.ts'
import { consentToDumps } from './consent.ts'
import { targetOf } from './target.ts'

/** Maximum number of thread names in the line of a group on a terminal. */
const MAX_NAMES = 4
/** Indentation of the lines after the first line of a wrapped text. */
const INDENT = '      '

export async function threads(
  pidText: string | undefined,
  flags: Flags<'threads'>,
  print: (text: string) => void,
): Promise<void> {
  const pid = await targetOf(pidText)
  await consentToDumps(pid, flags.yes)
  const shown = await threadsOf(pid)
  const columns = process.stdout.isTTY === true ? process.stdout.columns || undefined : undefined
  print(
    flags.json === true
      ? commandJson('threads', shown)
      : `${threadLines(shown, flags.idle === true, columns).join('\n')}\n`,
  )
}

/** Returns the text for the page of the live view. The page scrolls, so the text contains all stacks. */
export function threadText(shown: JvmThreads): ThreadText {
  return (columns) => threadLines(shown, true, columns)
}

/**
 * @param withIdle  whether the stacks of threads that wait for work are printed, too
 * @param columns   width of the terminal: frames are cut to this width, other lines are wrapped
 */
export function threadLines(
  { pid, mainClass, jdk, stoppedMs, virtual, deadlocks, groups }: JvmThreads,
  withIdle = false,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const all = groups.reduce((sum, { threads: names }) => sum + names.length, 0)
  const lines: string[] = []
  const say = (text: string): void => append(lines, wrapped(text, columns))
  say(`${pid}  ${mainClass} (JDK ${jdk}): ${plural(all, 'thread')}, ${plural(groups.length, 'stack')}`)
  if (stoppedMs !== null) say(`the dump stopped the JVM for ${stoppedMs.toFixed(1)} ms`)
  if (virtual !== null) say(virtualText(virtual))
  for (const deadlock of deadlocks) {
    lines.push('')
    say(`deadlock of ${plural(deadlock.length, 'thread')}:`)
    for (const { thread, awaited, holder } of deadlock)
      say(`  ${thread} waits for ${awaited}, held by ${holder}`)
  }
  const names = columns === Number.POSITIVE_INFINITY ? columns : MAX_NAMES
  for (const group of groups) {
    if (group.isIdle && !withIdle) continue
    lines.push('')
    say(headOf(group, names))
    for (const frame of group.frames) lines.push(cut(clean(`      at ${frame}`), columns))
  }
  const idle = withIdle ? [] : groups.filter((it) => it.isIdle)
  if (idle.length > 0) {
    lines.push('')
    say('threads that wait for work (--idle prints their stacks):')
    for (const group of idle) say(`${right(`${group.threads.length}`, 4)}  ${listed(group.threads, names)}`)
  }
  return lines
}

function virtualText({ mounted, pinned, ready }: VirtualFacts): string {
  const unseen =
    pinned === null ? 'before JDK 24 a dump contains no stacks of them' : 'a dump contains no others'
  const texts = [
    `${mounted} on carriers${(pinned ?? 0) > 0 ? `, ${pinned} of them pinned` : ''}`,
    ...((ready ?? 0) > 0 ? [`${ready} ready to run without a carrier`] : []),
    unseen,
  ]
  return `virtual threads: ${texts.join('; ')}`
}

/** Further lines are indented. */
function wrapped(text: string, columns: number): string[] {
  const cleaned = clean(text)
  if (width(cleaned) <= columns) return [cleaned]
  const [, indent = '', rest = ''] = /^( *)(.*)$/s.exec(cleaned)!
  return wrap(rest, columns - INDENT.length).map((line, at) => (at === 0 ? indent : INDENT) + line)
}

function headOf(group: StackGroup, mostNames: number): string {
  const { state, pinnedAt, carriers, awaited, holders, held, threads: names } = group
  const facts = [
    STATE_NAMES[state],
    pinnedAt === null ? '' : `pinned at ${pinnedAt}`,
    carriers.length > 0 ? `on ${listed(carriers, mostNames)}` : '',
    awaited === null
      ? ''
      : `waits for ${awaited}${holders.length > 0 ? `, held by ${holders.join(', ')}` : ''}`,
    held.length > 0 ? `holds ${held.join(', ')}` : '',
  ].filter(Boolean)
  return `${right(`${names.length}`, 4)}  ${facts.join('; ')}: ${listed(names, mostNames)}`
}

function listed(names: readonly string[], most: number): string {
  const rest = names.length > most ? `, and ${names.length - most} more` : ''
  return names.slice(0, most).join(', ') + rest
}
