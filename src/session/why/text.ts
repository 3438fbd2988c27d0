// The answer of `jfluid why` as lines of text. In a terminal, long lines are wrapped; only callers of the listed methods are left out.

import { featureOf } from '../../attach/admission.ts'
import { isBusy, usedText } from '../../attach/processors.ts'
import { SINCE } from '../../base/jdk-releases.ts'
import { shellWord } from '../../base/shell-word.ts'
import { bytesText, clean, plural, width, wrap } from '../../profile/text.ts'
import { ENOUGH_SAMPLES } from '../roots/root-search.ts'
import type { Activity, OwnMethod, Service } from './activity.ts'
import type { Answer, Holder } from './answer.ts'

/** Maximum number of names in a line. */
const MAX_CALLERS = 4
const MAX_LOCKS = 2
const MAX_POOLS = 3
const MAX_OTHERS = 2
/** Minimum number of samples for naming a cause. With fewer samples, a single sample would be more than a tenth of the time. */
const MIN_SAMPLES = 10
/** Shares below 1 % are not printed. */
const MIN_SHOWN_SHARE = 0.01
/** Minimum mean number of working threads with which a group outside of requests counts as computing all the time. */
const MIN_LOOP_THREADS = 0.9
/** Minimum share of a second state that is named beside the cause. */
const MIN_SECOND_SHARE = 0.25
/** Minimum share of throttled periods from which the quota is named beside another cause. */
const MIN_NAMED_THROTTLING = 0.1
/** Allocation rates below this number of bytes per second are not printed. */
const MIN_SHOWN_RATE = 1 << 20

export const STATE_NAMES: Readonly<Record<Activity | 'processor', string>> = {
  cpu: 'CPU',
  lock: 'lock',
  io: 'I/O',
  sleep: 'sleep',
  pool: 'pool or queue',
  result: 'result of another thread',
  wait: 'other wait',
  processor: 'waiting for a processor',
}

/** An answer, with the facts about its samples. */
export interface Answered {
  readonly pid: number
  readonly target: { readonly mainClass: string; readonly jdk: string }
  readonly answer: Answer
  readonly dumps: {
    readonly count: number
    readonly meanMs: number
    readonly worstMs: number
    readonly seconds: number
    /**
     * Number of dumps that took longer than `mostMs`. After one long dump, the next dump is delayed; after two, no more dumps are taken.
     */
    readonly long: number
    readonly mostMs: number
  }
}

/** Indentation of the continuation lines of a wrapped line. */
const INDENT = '   '

/**
 * Returns the lines below the header: the cause, the states, the methods, locks, pauses, other work.
 *
 * @param columns  width of the terminal; infinite for a file or a pipe
 */
export function answerLines(
  { answer, pid, target, dumps }: Answered,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const { methods, locks, carriers } = answer
  const of = answer.root === null ? 'working threads' : 'requests'
  const [isFirstInCause, shownLocks] = [answer.cause === 'lock', locks.slice(0, MAX_LOCKS)]
  const wrapped = (text: string): string[] => wrapLine(clean(text), columns)
  return [
    ...wrapped(isTooFew(answer) ? tooFewText(answer, of) : causeText(answer, of)),
    ...wrapped(`time of ${of} (${samplesText(answer)}): ${statesText(answer)}`),
    ...methods.flatMap((it, at) => fitted(`${at + 1}. ${share(it.share)}  `, it, columns)),
    ...shownLocks.flatMap((it, at) =>
      (isFirstInCause && at === 0) || it.share < MIN_SHOWN_SHARE
        ? []
        : wrapped(lockText(it, shownLocks[at - 1])),
    ),
    ...wrapped(pausesText(answer)),
    ...poolLines(answer).flatMap(wrapped),
    ...(carriers < MIN_SHOWN_SHARE
      ? []
      : wrapped(
          `not seen: virtual threads on ${carriers.toFixed(1)} carriers, whose stacks dumps of this JDK do not contain`,
        )),
    ...answer.others.slice(0, MAX_OTHERS).flatMap((it) => fitted(otherText(it, of), it.holder, columns)),
    ...(dumps.long === 0 ? [] : wrapped(longDumpsText(pid, target, dumps))),
  ]
}

/** Wraps a line, and keeps a method name with the arrow before it, and a number with its unit. */
function wrapLine(text: string, columns: number): string[] {
  const joined = text.replaceAll('< ', '<\u00a0').replace(/(\d) (?=%|ms|s\b|[kMG]B)/g, '$1\u00a0')
  return wrap(joined, columns, INDENT).map((line) => line.replaceAll('\u00a0', ' '))
}

/** Leaves out the outermost callers that do not fit into the line. */
function fitted(begin: string, holder: Holder, columns: number): string[] {
  const all = Math.min(MAX_CALLERS, Math.max(1, holder.methods.length))
  const textOf = (shown: number): string =>
    clean(begin + holderText(holder, shown)) + (shown < all ? ' < …' : '')
  for (let shown = all; shown > 0; shown--) if (width(textOf(shown)) <= columns) return [textOf(shown)]
  return wrapLine(textOf(1), columns)
}

function longDumpsText(
  pid: number,
  { jdk }: Answered['target'],
  { long, mostMs }: Answered['dumps'],
): string {
  const isOld = (featureOf(jdk) ?? 0) < SINCE.SELECTIVE_INVALIDATION
  const instead = isOld
    ? `${attachCommand(pid)} --mode sample --sampler jfr (once in the life of this JVM, this discards all compiled code)`
    : `${attachCommand(pid)} --mode sample`
  return `${plural(long, 'thread dump')} stopped the JVM for more than ${mostMs} ms, so fewer were taken; the flight recorder needs none: ${instead}`
}

function attachCommand(pid: number): string {
  return `jfluid attach ${pid}`
}

export function attachCommandOf(pid: number, root: string): string {
  return `${attachCommand(pid)} --root ${shellWord(root)}`
}

/** Returns the command that measures the cause exactly. */
export function nextCommand({ pid, answer: { root, cause } }: Pick<Answered, 'pid' | 'answer'>): string {
  const mode = cause === 'lock' ? ' --mode locks' : cause === 'collection' ? ' --mode alloc' : ''
  return `${root === null ? attachCommand(pid) : attachCommandOf(pid, root)}${mode}`
}

/** The command is not wrapped, so that it can be copied from a terminal. */
export function nextLine(answered: Pick<Answered, 'pid' | 'answer'>): string {
  return `next: ${clean(nextCommand(answered))}`
}

/** Returns whether there are too few samples for the cause. A pause needs no samples: the JVM and the system count pauses. */
function isTooFew({ samples, cause }: Answer): boolean {
  return samples < MIN_SAMPLES && cause !== 'collection' && cause !== 'throttled'
}

function tooFewText(answer: Answer, of: string): string {
  return `only ${plural(answer.samples, 'sample')} of ${of}, too few to name a cause: ${of} are short or rare (${isShort(answer) ? shortageText(answer) : processorsText(answer)})`
}

function share(part: number): string {
  return `${Math.round(100 * part)} %`
}

function causeText(answer: Answer, of: string): string {
  const { cause } = answer
  const worst = answer.main
  const where = worst === null ? '' : ` in ${chainText(worst.methods)}`
  const part = share(answer.share)
  switch (cause) {
    case 'throttled':
      return `${quotaText(answer, answer.share)}${usersText(answer)}`
    case 'collection':
      return `garbage collection stops all threads for ${part} of the time${allocationText(answer)}${allocatorText(answer)}`
    case 'processor':
      return `${of} wait for a processor for ${part} of their time: ${shortageText(answer)}`
    case 'lock': {
      const [lock] = answer.locks
      return `${of} wait for a lock for ${part} of their time${lock === undefined ? where : `: ${lockWords(lock)}`}`
    }
    case 'pool':
      return `${of} wait for a free entry of a pool or queue for ${part} of their time${where}${takenText(answer)}`
    case 'io':
      return `${of} wait for ${serviceText(worst?.service)} for ${part} of their time${where}${secondText(answer)}`
    case 'cpu':
      return `${of} use the CPU for ${part} of their time${worst?.service === 'database' ? ', for a database inside the JVM,' : ''}${where}${secondText(answer)}`
    case 'sleep':
      return `${of} sleep for ${part} of their time${where}${secondText(answer)}`
    case 'result':
      return `${of} wait for the result of another thread for ${part} of their time${where}${secondText(answer)}`
    case 'wait':
      return `${of} wait for ${part} of their time${where}${secondText(answer)}`
  }
}

/** Returns a text about the second large wait. A wait for a pool is often caused by the method that holds the entries of the pool. */
function secondText({ besides }: Answer): string {
  if (besides === null || besides.share < MIN_SECOND_SHARE) return ''
  return `; ${share(besides.share)} ${STATE_NAMES[besides.activity]} in ${chainText(besides.methods)}`
}

function serviceText(service: Service | undefined): string {
  if (service === undefined) return 'I/O'
  const words = {
    database: 'a database',
    HTTP: 'another HTTP service',
    network: 'the network',
    file: 'files',
  }
  return words[service]
}

function samplesText({ samples }: Answer): string {
  return `${plural(samples, 'sample')}${samples < ENOUGH_SAMPLES ? ', too few for exact shares' : ''}`
}

function statesText({ states }: Answer): string {
  const shown = states.filter((it) => it.share >= MIN_SHOWN_SHARE)
  return shown.map((it) => `${STATE_NAMES[it.state]} ${share(it.share)}`).join(', ')
}

function holderText({ activity, service, methods }: Holder, callers: number): string {
  const what = service === undefined ? STATE_NAMES[activity] : `${STATE_NAMES[activity]} (${service})`
  const [first, ...others] = methods.slice(0, callers)
  if (first === undefined) return what
  const place = first.place === '' ? '' : ` (${first.place})`
  return `${what}  ${[methodText(first) + place, ...others.map(methodText)].join(' < ')}`
}

/** Returns the innermost method and its callers: `OrderDao.find < OrderService.list`. */
function chainText(methods: readonly OwnMethod[]): string {
  return methods.slice(0, MAX_CALLERS).map(methodText).join(' < ')
}

/** Returns class and method without the package. */
function methodText({ name }: OwnMethod): string {
  return name.slice(name.lastIndexOf('.', name.lastIndexOf('.') - 1) + 1)
}

type Lock = Answer['locks'][number]

/** @param before  lock of the previous line. If both locks have the same holder, the holder is described only once */
function lockWords({ class: name, waiter, holder }: Lock, before?: Lock): string {
  const isSame = JSON.stringify(before?.holder) === JSON.stringify(holder)
  const held =
    holder === null
      ? 'its holder was not seen'
      : isSame
        ? 'with the same holder'
        : `${holder.isGuess ? 'probably held' : 'held'} by ${holder.thread} in ${chainText(holder.methods)} (${STATE_NAMES[holder.activity]})`
  return `${methodText(waiter)} waits for ${name.slice(name.lastIndexOf('.') + 1)}, ${held}`
}

function lockText(lock: Lock, before: Lock | undefined): string {
  return `lock: ${share(lock.share)}  ${lockWords(lock, before)}`
}

/** Returns a text about what the other requests do while they hold the entries of a pool. */
function takenText({ besides }: Answer): string {
  return besides === null
    ? ''
    : `; meanwhile others are in ${chainText(besides.methods)} (${STATE_NAMES[besides.activity]})`
}

function allocationText({ allocation }: Answer): string {
  if (allocation === null || allocation.bytesPerSecond < MIN_SHOWN_RATE) return ''
  return `; ${bytesText(Math.round(allocation.bytesPerSecond))}/s are allocated, ${share(allocation.share)} of them by ${allocation.group}`
}

/** Returns a text about what the threads with the most allocations do. */
function allocatorText({ allocation }: Answer): string {
  const method = allocation?.method ?? null
  if (allocation === null || method === null || allocation.bytesPerSecond < MIN_SHOWN_RATE) return ''
  return `, computing in ${methodText(method)}`
}

/** Returns whether the JVM had too few processors. The system counts the lack of processors, so no samples are needed. */
function isShort({ processors, throttled }: Answer): boolean {
  return (throttled ?? 0) >= MIN_NAMED_THROTTLING || (processors !== null && isBusy(processors))
}

/** Returns a text about why processors are missing, and what uses the processors. */
function shortageText(answer: Answer): string {
  const throttled = answer.throttled ?? 0
  const quota = throttled < MIN_NAMED_THROTTLING ? '' : `; ${quotaText(answer, throttled)}`
  return `${processorsText(answer)}${quota}${usersText(answer)}`
}

/** Returns the methods with the most processor time. */
function usersText(answer: Answer): string {
  const uses = answer.computing.map((it) => `${share(it.share)} in ${methodText(it.method)}`)
  return `${uses.length === 0 ? '' : `; of the CPU time ${uses.join(', ')}`}${loopText(answer)}`
}

/**
 * Returns a text about a group outside of requests that computes all the time, unless its method is among those with the most processor
 * time.
 */
function loopText({ others, computing }: Answer): string {
  const loop = others.find(({ threads, holder }) => holder.activity === 'cpu' && threads >= MIN_LOOP_THREADS)
  const method = loop?.holder.methods[0]
  if (loop === undefined || method === undefined || computing.some((it) => it.method.name === method.name))
    return ''
  return `; ${loop.group} computes all the time in ${methodText(method)}`
}

function quotaText({ processors }: Answer, part: number): string {
  const quota =
    processors === null ? 'of its control group' : `${Number(processors.most.toFixed(2))} processors`
  return `the processor quota (${quota}) stops the JVM in ${share(part)} of its periods`
}

function processorsText({ processors }: Answer): string {
  return processors === null ? 'unknown use' : usedText(processors)
}

function pausesText(answer: Answer): string {
  const { collection, throttled } = answer
  const made = answer.cause === 'collection' ? '' : allocationText(answer).replace(/^; /, ', ')
  return [
    `JVM: garbage collection ${collection === null ? 'unknown' : share(collection)}`,
    (throttled ?? 0) < MIN_SHOWN_SHARE ? '' : `, throttled in ${share(throttled!)} of the periods`,
    `, ${processorsText(answer)}${made}`,
  ].join('')
}

function poolLines({ pools }: Answer): string[] {
  const shown = pools
    .slice(0, MAX_POOLS)
    .map(({ name, threads, idle }) => `${name} ${Math.round(idle)} of ${threads}`)
  const rest = pools.length > MAX_POOLS ? `, ${pools.length - MAX_POOLS} more` : ''
  return shown.length === 0 ? [] : [`idle threads, not counted: ${shown.join(', ')}${rest}`]
}

function otherText({ group, threads }: Answer['others'][number], of: string): string {
  const where = of === 'requests' ? 'outside of requests' : 'elsewhere'
  return `${where}: ${group} ${threads.toFixed(1)} ${threads === 1 ? 'thread' : 'threads'} in `
}

export function headLines(
  { pid, target, answer, dumps }: Answered,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const { count, meanMs, worstMs, seconds } = dumps
  const text = `${pid}  ${target.mainClass} (JDK ${target.jdk}): ${plural(answer.allSamples, 'sample')} in ${seconds.toFixed(1)} s; ${plural(count, 'thread dump')} stopped the JVM for ${meanMs.toFixed(1)} ms each, at most ${worstMs.toFixed(1)} ms`
  return wrapLine(clean(text), columns)
}
