// Chooses the methods to which scheme adaptive gives exact times: methods with a significant share of the root's time, methods with a
// probably large share, and other sampled methods in the same classes. The number of classes is limited; classes of the user are chosen
// before library classes. Pure functions.

import { getOrAdd } from '../../base/maps.ts'
import { MIN_SAMPLES, SAMPLED } from '../../cct/merge-samples.ts'
import { type MethodName, type Tree, topSum } from '../../cct/tree.ts'
import { isOfApplication } from '../roots/root-names.ts'

/** Owner of a class: the user, a framework that contains a root, or another library. */
export type Owner = 'user' | 'framework of a root' | 'library'

const PRECEDENCE: Readonly<Record<Owner, number>> = { user: 2, 'framework of a root': 1, library: 0 }

/** A sampled method, and its share of the roots' time. */
export interface Seen {
  readonly className: string
  readonly method: string
  /** Total time as a share of the time of all roots. Nested activations of a recursive method count once. */
  readonly share: number
  /** Like `share`, but each activation of a recursive method counts, so that the value may exceed 1. */
  readonly nested: number
  /** Standard deviation of `share`. */
  readonly sd: number
  /** Self time, as a share of the time of all roots. */
  readonly self: number
  /** Share of the time in which this method was the innermost method outside libraries. 0 for a library method. */
  readonly innermost: number
  /** Number of samples in the method and its callees. Nested activations of a recursive method count once. */
  readonly samples: number
  /** Number of branches in the tree below the method. A chain of rows with one child each is not a branch. */
  readonly branches: number
  /**
   * Self time of all methods of the class and its nested classes, as a share of the time of all roots. These methods count together, since
   * the compilers inline them into each other. 0 if there are fewer than three samples.
   */
  readonly computing: number
  readonly owner: Owner
}

export type Shares = Pick<Seen, 'share' | 'nested'>

export interface Limits {
  /** Maximum number of classes in one redefinition. */
  readonly classes: number
}

export const USUAL_LIMITS: Limits = { classes: 40 }

/** Minimum share of the roots' time, for the user's own code and for libraries. */
const MIN_SHARE_OWN = 0.005
const MIN_SHARE_LIBRARY = 0.03
/**
 * A method with at least LARGE times the minimum share is accepted even if its share is not significant. If a call is rare and long, all
 * samples belong to one call, so the standard deviation is as large as the share.
 */
const LARGE = 10
const SEEN_TWICE = 2
/**
 * Weights of a method's share: the first for a method with several callees, the second for a method with a single callee. The value of a
 * method is its weighted share, plus the time in which the method is the innermost method.
 */
const PARTING = 0.3
const PASSING_ON = 0.1
/** A method does work of its own if its self time is at least this part of its total time. */
const SELF_OF_SHARE = 0.1
/**
 * Maximum self time of a library class, as a share of the roots' time. A redefined class is interpreted, about thirty times slower, until
 * it is compiled again, so a class above the limit keeps its code. (Keycloak's password hash took 600 to 860 ms instead of 130.)
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

/** Returns the methods of a snapshot that may be timed, largest share first. */
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
    return getOrAdd(kinds, id, () => ({ owner: ownerOf(name.class), mayBeTimed: mayBeTimed(name) }))
  }
  // Maps a row outside libraries to itself, and a library row to the nearest row above it that is not in a library.
  const own = new Int32Array(count)
  const innermost = new Float64Array(count)
  const children = new Int32Array(count)
  // Self values: the values of each node minus the values of its children.
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
    // The samples of a timed row do not include the samples of its children (laidOut() in cct/merge-samples.ts).
    if (known[node] === SAMPLED) ends[above]! -= samples[node]!
  }
  const classes = new Map<string, { computes: number; samples: number }>()
  const sums = new Map<
    number,
    {
      total: number
      nested: number
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
    const ofClass = getOrAdd(classes, file, () => ({ computes: 0, samples: 0 }))
    ofClass.computes += computes[node]!
    ofClass.samples += ends[node]!
    const sum = sums.get(id) ?? {
      ...{ total: 0, nested: 0, variance: 0, self: 0, innermost: 0, samples: 0, branches: 0, end: 0 },
    }
    sums.set(id, sum)
    sum.self += selfNs[node]!
    sum.innermost += innermost[node]!
    if (children[node]! > 1) sum.branches += children[node]!
    sum.nested += totalNs[node]!
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
      ...{ share: sum.total / whole, nested: sum.nested / whole, sd: Math.sqrt(sum.variance) / whole },
      ...{ self: sum.self / whole, innermost: sum.innermost / whole, samples: sum.samples },
    })
  }
  return seen.sort((a, b) => b.share - a.share)
}

/**
 * Adjusts samples from the first seconds after the JVM has discarded all compiled code. During this time, interpreted code has too large a
 * share. Code that was recompiled early, for example a hash loop, has too small a share. So a user method with at least two samples is
 * accepted by its share alone, without the standard deviation.
 */
export function whileCold(seen: readonly Seen[]): Seen[] {
  return seen.map((it) => (it.owner === 'user' && it.samples >= SEEN_TWICE ? { ...it, sd: 0 } : it))
}

/**
 * Returns the shares of a method.
 * @returns 0 if the method has no samples
 */
export function sharesOf(seen: readonly Seen[], className: string, method: string): Shares {
  return seen.find((it) => it.className === className && it.method === method) ?? { share: 0, nested: 0 }
}

/** Matches a first part of a package name that does not identify an owner, such as com, org, io. */
const DOMAIN = /^(?:[a-z]{2,3}|info)$/

/**
 * Returns the owner of a class. A class belongs to the user if its package begins like the package of a root: with the same first part,
 * such as `kafka`, or with the same first two parts if the first part is a domain, such as `org.keycloak`. If the root belongs to a
 * framework, for example the method that calls all controllers, all code outside of frameworks counts as the user's code.
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
  // Adds all other sampled user methods of the chosen classes, since these methods do not make the pause longer.
  for (const { className, method, owner } of seen) {
    const methods = taken.get(className)
    if (owner !== 'library' && methods?.includes(method) === false) methods.push(method)
  }
  return taken
}
