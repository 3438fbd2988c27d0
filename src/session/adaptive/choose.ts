// Which methods scheme adaptive gives exact times: those that surely have a share of the root's time, those that probably have a large
// one, and the other methods of their classes that samples have seen; in as few classes as one redefinition should touch, the user's own
// code before all else. Pure.

import { LEAST_SAMPLES, SAMPLED } from '../../cct/picture.ts'
import { type MethodName, type Tree, topSum } from '../../cct/tree.ts'
import { isOfApplication } from '../roots/root-names.ts'

/** Whose code a class is: the user's own, that of a framework to which a root belongs, or that of another library. */
export type Owner = 'user' | 'framework of a root' | 'library'

const PRECEDENCE: Readonly<Record<Owner, number>> = { user: 2, 'framework of a root': 1, library: 0 }

/** A method that samples have seen, and how much of the roots' time was at or below it. */
export interface Seen {
  readonly className: string
  readonly method: string
  /** Of the time of all roots, of outermost activations. */
  readonly share: number
  /** Its standard deviation. */
  readonly sd: number
  /** Of the same time, what it has itself. */
  readonly self: number
  /** Of the same time, that during which it was the innermost method that is no library's; 0 of a library. */
  readonly innermost: number
  /** At or below it, of outermost activations. */
  readonly samples: number
  /** Below it, so many rows begin that are not a chain of single calls. */
  readonly branches: number
  /**
   * What all methods of its class, and of classes nested in the same one, compute themselves, of the same time: the compilers inline them into
   * each other. 0 while fewer than three samples say so.
   */
  readonly computing: number
  readonly owner: Owner
}

export interface Limits {
  /** One redefinition. */
  readonly classes: number
}

export const USUAL_LIMITS: Limits = { classes: 40 }

/** Of the roots' time, surely: of the user's own code, and of libraries. */
const LEAST_OWN = 0.005
const LEAST_OTHER = 0.03
/**
 * A method with so many times the least share is taken even if that is not sure: of a call that is rare and takes long, all samples are of
 * one call, so that the standard deviation is as large as the share.
 */
const LARGE = 10
const SEEN_TWICE = 2
/** What a share is worth where it parts, and of a frame that passes on to one callee, beside the time of which it is the innermost. */
const PARTING = 0.3
const PASSING_ON = 0.1
/** Itself, as a part of its share: more than passing on. */
const SELF_OF_SHARE = 0.1
/**
 * A redefined class is interpreted until it is compiled again, some thirty times as slow. A library class that computes for more than
 * that part of the roots' time keeps its code. (Keycloak's password hash took 600 to 860 ms in place of 130.)
 */
const MOST_COMPUTING = 0.02

/** Classes of the JDK, which are not touched, of proxies that have no code worth timing, and of tracing agents. */
const NEVER =
  /^(?:java|javax|jdk|sun|com\.sun)\.|\$\$|\$Proxy\d|^(?:io\.opentelemetry\.javaagent|co\.elastic\.apm|datadog\.trace|com\.newrelic|com\.dynatrace|net\.bytebuddy)\./

/** What javac makes for other classes of the same file: it passes on. */
const ACCESS = /^access\$\d+$/

export function mayBeTimed({ class: className, method }: Pick<MethodName, 'class' | 'method'>): boolean {
  return className !== '' && !NEVER.test(className) && !method.startsWith('<') && !ACCESS.test(method)
}

/** Without the names of nested classes. */
const outermost = (className: string): string => className.replace(/(?<=[^.$])\$[^.]*$/, '')

/** What the samples of a picture say of methods that may be timed, the largest share first. */
export function seenMethods(
  tree: Tree,
  nameOf: (id: number) => MethodName,
  ownerOf: (className: string) => Owner,
): Seen[] {
  const { count, method, parent, size, metrics } = tree
  const { selfNs, totalNs, known, sdNs, cpuNs, samples } = metrics
  if (selfNs === undefined || totalNs === undefined || known === undefined) return []
  if (cpuNs === undefined || samples === undefined) return []
  const whole = topSum(tree, 'totalNs')
  if (whole <= 0) return []
  const kinds = new Map<number, { owner: Owner; mayBeTimed: boolean }>()
  const kindOf = (id: number) => {
    const name = nameOf(id)
    const known = kinds.get(id) ?? { owner: ownerOf(name.class), mayBeTimed: mayBeTimed(name) }
    kinds.set(id, known)
    return known
  }
  // At or above each row, the nearest that is no library's.
  const own = new Int32Array(count)
  const innermost = new Float64Array(count)
  const children = new Int32Array(count)
  // Without what is at or below their children.
  const computes = cpuNs.slice()
  const ends = samples.slice()
  for (let node = 0; node < count; node++) {
    const above = parent[node]!
    const kind = kindOf(method[node]!)
    own[node] = kind.owner !== 'library' && kind.mayBeTimed ? node : above < 0 ? -1 : own[above]!
    if (own[node]! >= 0) innermost[own[node]!]! += selfNs[node]!
    if (above < 0) continue
    children[above]!++
    computes[above]! -= cpuNs[node]!
    // Those of a timed row are its own (laidOut() in cct/picture.ts).
    if (known[node] === SAMPLED) ends[above]! -= samples[node]!
  }
  const classes = new Map<string, { computes: number; samples: number }>()
  const sums = new Map<
    number,
    {
      total: number
      variance: number
      self: number
      innermost: number
      samples: number
      branches: number
      end: number
    }
  >()
  for (let node = 0; node < count; node++) {
    if (known[node] !== SAMPLED) continue
    const id = method[node]!
    const file = outermost(nameOf(id).class)
    const ofClass = classes.get(file) ?? { computes: 0, samples: 0 }
    classes.set(file, ofClass)
    ofClass.computes += computes[node]!
    ofClass.samples += ends[node]!
    const sum = sums.get(id) ?? {
      ...{ total: 0, variance: 0, self: 0, innermost: 0, samples: 0, branches: 0, end: 0 },
    }
    sums.set(id, sum)
    sum.self += selfNs[node]!
    sum.innermost += innermost[node]!
    if (children[node]! > 1) sum.branches += children[node]!
    if (node < sum.end) continue // below another activation of it
    sum.end = node + size[node]!
    sum.total += totalNs[node]!
    sum.samples += samples[node]!
    sum.variance += (sdNs?.[node] ?? 0) ** 2
  }
  const seen: Seen[] = []
  for (const [id, sum] of sums) {
    const name = nameOf(id)
    const kind = kindOf(id)
    if (!kind.mayBeTimed) continue
    const ofClass = classes.get(outermost(name.class))!
    seen.push({
      computing: ofClass.samples < LEAST_SAMPLES ? 0 : ofClass.computes / whole,
      ...{ className: name.class, method: name.method, owner: kind.owner, branches: sum.branches },
      ...{ share: sum.total / whole, sd: Math.sqrt(sum.variance) / whole },
      ...{ self: sum.self / whole, innermost: sum.innermost / whole, samples: sum.samples },
    })
  }
  return seen.sort((a, b) => b.share - a.share)
}

/**
 * Where the JVM has discarded its compiled code a few seconds before: what was interpreted has too much of the time, and what was compiled
 * again at once, as a loop that computes a hash, too little. So all of the user's code that has been seen twice counts by its share alone.
 */
export function whileCold(seen: readonly Seen[]): Seen[] {
  return seen.map((it) => (it.owner === 'user' && it.samples >= SEEN_TWICE ? { ...it, sd: 0 } : it))
}

/** @returns 0 of a method that has not been seen */
export function shareOf(seen: readonly Seen[], className: string, method: string): number {
  return seen.find((it) => it.className === className && it.method === method)?.share ?? 0
}

/** Such as com, org, io: it says nothing alone. */
const DOMAIN = /^(?:[a-z]{2,3}|info)$/

/**
 * The user's own code is in the packages that share the first name of a root's, as `kafka`, or the first two where that is a domain,
 * as `org.keycloak`. Below a root of a framework, such as what calls all controllers, it is what is of no framework.
 */
export function ownerBy(rootClasses: readonly string[]): (className: string) => Owner {
  const isApplication = (className: string) =>
    isOfApplication({ class: className, method: '', descriptor: '', loader: '' })
  const isOfFramework = !rootClasses.some(isApplication)
  const prefixes = rootClasses.map((it) => {
    const packages = it.split('.').slice(0, -1)
    return packages.length === 0 ? null : `${packages.slice(0, DOMAIN.test(packages[0]!) ? 2 : 1).join('.')}.`
  })
  return (className) => {
    const isOfRoot = prefixes.some((it) =>
      it === null ? !className.includes('.') : className.startsWith(it),
    )
    if (!isOfFramework) return isOfRoot ? 'user' : 'library'
    if (isApplication(className)) return 'user'
    return isOfRoot ? 'framework of a root' : 'library'
  }
}

/** @returns methods by class, the user's first, and of these the most valuable classes; empty if nothing is sure enough yet */
export function chooseMethods(
  seen: readonly Seen[],
  { classes }: Limits = USUAL_LIMITS,
): ReadonlyMap<string, readonly string[]> {
  const chosen = new Map<string, { value: number; precedence: number; methods: string[] }>()
  for (const it of seen) {
    const isLibrary = it.owner === 'library'
    if (isLibrary && it.computing > MOST_COMPUTING) continue
    const least = isLibrary ? LEAST_OTHER : LEAST_OWN
    if (it.share - it.sd < least && it.share < LARGE * least) continue
    const tells = it.branches > 1 || it.self >= SELF_OF_SHARE * it.share
    // A redefinition of collections, say, has all code compiled again in which they are inlined, whatever that is for.
    if (!tells && isLibrary) continue
    const value = it.innermost + it.share * (tells ? PARTING : PASSING_ON)
    const known = chosen.get(it.className) ?? { value: 0, precedence: PRECEDENCE[it.owner], methods: [] }
    known.value += value
    known.methods.push(it.method)
    chosen.set(it.className, known)
  }
  const best = [...chosen]
    .sort(([, a], [, b]) => b.precedence - a.precedence || b.value - a.value)
    .slice(0, classes)
  const taken = new Map(best.map(([className, { methods }]) => [className, methods]))
  // Of a class that is redefined anyway, all that has been seen of the user's code: it makes no pause longer.
  for (const { className, method, owner } of seen) {
    const methods = taken.get(className)
    if (owner !== 'library' && methods?.includes(method) === false) methods.push(method)
  }
  return taken
}
