// Chooses the methods that scheme adaptive gives exact times: methods with a significant share of the root's time, methods with a probably
// large share, and other sampled methods in the same classes. The number of classes is limited, and the user's own code comes first. Pure
// functions.

import { MIN_SAMPLES, SAMPLED } from '../../cct/picture.ts'
import { type MethodName, type Tree, topSum } from '../../cct/tree.ts'
import { isOfApplication } from '../roots/root-names.ts'

/** Owner of a class: the user, a framework that contains a root, or another library. */
export type Owner = 'user' | 'framework of a root' | 'library'

const PRECEDENCE: Readonly<Record<Owner, number>> = { user: 2, 'framework of a root': 1, library: 0 }

/** A sampled method, and its share of the roots' time. */
export interface Seen {
  readonly className: string
  readonly method: string
  /** Total time as a share of the time of all roots. Recursive calls count once. */
  readonly share: number
  /** Standard deviation of `share`. */
  readonly sd: number
  /** Self time, as a share of the time of all roots. */
  readonly self: number
  /** Share of the time in which this method was the innermost method outside libraries. 0 for a library method. */
  readonly innermost: number
  /** Number of samples at or below the method. Recursive calls count once. */
  readonly samples: number
  /** Number of rows that begin below the method, not counting chains of single calls. */
  readonly branches: number
  /**
   * Share of the time in which all methods of its class, including nested classes, compute themselves. The compilers inline such methods
   * into each other. 0 if there are fewer than three samples.
   */
  readonly computing: number
  readonly owner: Owner
}

export interface Limits {
  /** Maximum number of classes in one redefinition. */
  readonly classes: number
}

export const USUAL_LIMITS: Limits = { classes: 40 }

/** Minimum share of the roots' time, for the user's own code and for libraries. */
const MIN_SHARE_OWN = 0.005
const MIN_SHARE_LIBRARY = 0.03
/**
 * A method with this many times the minimum share is accepted even if it is not significant. If a call is rare and long, all samples belong
 * to one call, so the standard deviation is as large as the share.
 */
const LARGE = 10
const SEEN_TWICE = 2
/**
 * Value of a share at a method with several callees, and at a method that only calls one callee. It is added to the time in which the
 * method is innermost.
 */
const PARTING = 0.3
const PASSING_ON = 0.1
/** Minimum self time as a part of the share, for a method that is considered to do own work. */
const SELF_OF_SHARE = 0.1
/**
 * Maximum share of the roots' time that a library class may compute itself. A redefined class is interpreted until it is compiled again,
 * about thirty times slower, so a class above the limit keeps its code. (Keycloak's password hash took 600 to 860 ms instead of 130.)
 */
const MAX_COMPUTING = 0.02

/** Classes that are never chosen: JDK classes, proxies without code worth timing, and tracing agents. */
const NEVER =
  /^(?:java|javax|jdk|sun|com\.sun)\.|\$\$|\$Proxy\d|^(?:io\.opentelemetry\.javaagent|co\.elastic\.apm|datadog\.trace|com\.newrelic|com\.dynatrace|net\.bytebuddy)\./

/** Accessors that javac generates for other classes of the same file. They only forward the call. */
const ACCESS = /^access\$\d+$/

export function mayBeTimed({ class: className, method }: Pick<MethodName, 'class' | 'method'>): boolean {
  return className !== '' && !NEVER.test(className) && !method.startsWith('<') && !ACCESS.test(method)
}

/** Returns the class name without nested class names. */
const outermost = (className: string): string => className.replace(/(?<=[^.$])\$[^.]*$/, '')

/** Returns the methods of a picture that may be timed, largest share first. */
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
  // For each row, the nearest row at or above it that does not belong to a library.
  const own = new Int32Array(count)
  const innermost = new Float64Array(count)
  const children = new Int32Array(count)
  // Self values: the values of each node minus those of its children.
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
    // The samples of a timed row are already its own (laidOut() in cct/picture.ts).
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
    if (node < sum.end) continue // the node is below another activation of the same method
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
      computing: ofClass.samples < MIN_SAMPLES ? 0 : ofClass.computes / whole,
      ...{ className: name.class, method: name.method, owner: kind.owner, branches: sum.branches },
      ...{ share: sum.total / whole, sd: Math.sqrt(sum.variance) / whole },
      ...{ self: sum.self / whole, innermost: sum.innermost / whole, samples: sum.samples },
    })
  }
  return seen.sort((a, b) => b.share - a.share)
}

/**
 * Adjusts samples taken while the JVM compiles its code again, a few seconds after it has discarded all code. Interpreted code then has too
 * large a share, and code that was recompiled early, for example a hash loop, too small a share. So each user method with two samples is
 * accepted by its share alone, without the standard deviation.
 */
export function whileCold(seen: readonly Seen[]): Seen[] {
  return seen.map((it) => (it.owner === 'user' && it.samples >= SEEN_TWICE ? { ...it, sd: 0 } : it))
}

/**
 * Returns the share of a method.
 * @returns 0 if the method has no samples
 */
export function shareOf(seen: readonly Seen[], className: string, method: string): number {
  return seen.find((it) => it.className === className && it.method === method)?.share ?? 0
}

/** First part of a package name that identifies no owner, such as com, org, io. */
const DOMAIN = /^(?:[a-z]{2,3}|info)$/

/**
 * Returns the owner of a class. The user's own code is in the packages that share the first part of a root's package, such as `kafka`, or
 * the first two parts after a domain, such as `org.keycloak`. If the root belongs to a framework, for example the method that calls all
 * controllers, the user's code is all code outside of frameworks.
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

/**
 * Chooses methods.
 * @returns methods grouped by class, the user's classes first, the most valuable classes first in each group; empty if no method is
 * significant yet
 */
export function chooseMethods(
  seen: readonly Seen[],
  { classes }: Limits = USUAL_LIMITS,
): ReadonlyMap<string, readonly string[]> {
  const chosen = new Map<string, { value: number; precedence: number; methods: string[] }>()
  for (const it of seen) {
    const isLibrary = it.owner === 'library'
    if (isLibrary && it.computing > MAX_COMPUTING) continue
    const least = isLibrary ? MIN_SHARE_LIBRARY : MIN_SHARE_OWN
    if (it.share - it.sd < least && it.share < LARGE * least) continue
    const tells = it.branches > 1 || it.self >= SELF_OF_SHARE * it.share
    // Redefining a library class such as a collection forces recompilation of all code that inlines it.
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
  // In a chosen class, all sampled methods of the user's code are added, since they do not make the pause longer.
  for (const { className, method, owner } of seen) {
    const methods = taken.get(className)
    if (owner !== 'library' && methods?.includes(method) === false) methods.push(method)
  }
  return taken
}
