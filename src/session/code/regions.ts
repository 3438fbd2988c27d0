// The regions of a session (--region): line ranges of methods, and their ids in events.

import { EX_NOCODE, EX_NOROOT, JfluidError } from '../../base/errors.ts'
import { getOrAdd } from '../../base/maps.ts'
import {
  type ClassFile,
  ClassFormatProblem,
  type MethodInfo,
  parseClassFile,
} from '../../classfile/class-file.ts'
import { linesOf, parseCode } from '../../classfile/code.ts'
import type { RegionRecipe } from '../../instrument/class.ts'
import { type CodeRegion, isWithin } from '../../instrument/regions.ts'
import type { RegionTimes } from '../../profile/profile.ts'
import type { RegionState } from '../../regions/builder.ts'
import { durationsOf, NO_DURATIONS, type TickScale } from '../../regions/times.ts'
import type { MethodTarget } from '../../reveal/method-ids.ts'
import { matchesMethod, RANK_NONE, rootRank } from '../../reveal/patterns.ts'
import type { RegionPattern } from '../../reveal/region-pattern.ts'

/** Thrown if the method has no code on the lines of a region. */
export class RegionNotFound extends JfluidError {
  static sample = () =>
    new RegionNotFound({ text: 'OrderService.place:90-95', lines: { from: 90, to: 95 } }, [
      { method: 'com.acme.shop.OrderService.place', from: 40, to: 61 },
    ])
  readonly exitCode = EX_NOROOT
  readonly hint: string
  constructor(region: Pick<RegionPattern, 'text' | 'lines'>, methods: readonly MethodLines[]) {
    const [first] = methods
    const where = methods.length === 1 ? first!.method : `any of ${methods.length} methods of that name`
    super(`region '${region.text}' not found: no code at ${linesText(region)} of ${where}`)
    const have = methods.map(({ method, from, to }) => `${method} has lines ${from} to ${to}`)
    this.hint = `Give lines that have code: ${have.slice(0, 3).join('; ')}. The compiler puts the code of a lambda into a separate method.`
  }
}

/** Thrown if a region names lines, but the class was compiled without line numbers. */
export class RegionWithoutLines extends JfluidError {
  static sample = () =>
    new RegionWithoutLines({ text: 'OrderService.place:90-95' }, 'com.acme.shop.OrderService.place')
  readonly exitCode = EX_NOCODE
  readonly hint = 'Leave the lines out to time the whole method, or compile the class with -g:lines.'
  constructor(region: Pick<RegionPattern, 'text'>, method: string) {
    super(`region '${region.text}' has line numbers, but ${method} was compiled without them`)
  }
}

export type RegionProblem = RegionNotFound | RegionWithoutLines

/** First and last source line of a method's code; both are 0 if the lines are not known. */
interface MethodLines {
  readonly method: string
  readonly from: number
  readonly to: number
}

interface Known {
  readonly region: CodeRegion
  readonly pattern: RegionPattern
  readonly methodId: number
}

function linesText({ lines }: Pick<RegionPattern, 'lines'>): string {
  if (lines === null) return 'any line'
  return lines.from === lines.to ? `line ${lines.from}` : `lines ${lines.from} to ${lines.to}`
}

export class RegionTable implements RegionRecipe {
  readonly tells = 'regions'
  /** Regions, indexed by region id minus 1. */
  readonly #known: Known[] = []
  readonly #byMethod = new Map<number, readonly CodeRegion[]>()
  /** Methods that match a pattern but have no code on its lines, with the lines of each method. */
  readonly #without = new Map<RegionPattern, Map<number, MethodLines>>()

  /** @param session  number of the session in the target's runtime */
  constructor(
    private readonly patterns: readonly RegionPattern[],
    readonly session: number,
  ) {}

  /** Returns the regions of a method. Repeated calls with one method return the same regions. */
  regionsOf(classFile: ClassFile, method: MethodInfo, methodId: number): readonly CodeRegion[] {
    const known = this.#byMethod.get(methodId)
    if (known !== undefined) return known
    const found: CodeRegion[] = []
    const lines = this.#linesOf(classFile, method)
    for (const pattern of this.patterns) {
      if (rootRank(pattern.method, classFile.name) === RANK_NONE) continue
      if (!matchesMethod(pattern.method, method.name, method.descriptor)) continue
      const range = pattern.lines
      if (range !== null && !(lines?.some((line) => isWithin(line, range)) ?? false)) {
        this.#noteWithout(pattern, methodId, `${dotted(classFile.name)}.${method.name}`, lines)
        continue
      }
      const region = { id: this.#known.length + 1, lines: range }
      this.#known.push({ region, pattern, methodId })
      found.push(region)
    }
    this.#byMethod.set(methodId, found)
    return found
  }

  #linesOf(classFile: ClassFile, method: MethodInfo): Int32Array | undefined {
    if (this.patterns.every((it) => it.lines === null) || method.code === undefined) return undefined
    return linesOf(classFile, parseCode(classFile, method))
  }

  #noteWithout(
    pattern: RegionPattern,
    methodId: number,
    method: string,
    lines: Int32Array | undefined,
  ): void {
    const all = lines?.filter((line) => line > 0) ?? []
    let [from, to] = [0, 0]
    for (const line of all) {
      if (from === 0 || line < from) from = line
      if (line > to) to = line
    }
    const noted = getOrAdd(this.#without, pattern, () => new Map())
    noted.set(methodId, { method, from, to })
  }

  /**
   * Checks before any change that the regions of methods exist.
   * @param bytes  class bytes for each element of `targets`; null if the JVM does not provide them
   * @throws RegionProblem if no method has code on the named lines
   */
  check(targets: readonly MethodTarget[], bytes: readonly (Uint8Array | null)[]): void {
    targets.forEach(({ id, name, descriptor }, i) => {
      const content = bytes[i]
      if (content === null || content === undefined) return
      try {
        const classFile = parseClassFile(content)
        const method = classFile.methods.find((it) => it.name === name && it.descriptor === descriptor)
        if (method !== undefined) this.regionsOf(classFile, method, id)
      } catch (error) {
        if (!(error instanceof ClassFormatProblem)) throw error // a ClassFormatProblem is reported when the class is rewritten
      }
    })
    const [problem] = this.problems()
    if (problem !== undefined) throw problem
  }

  /** Returns a problem for each pattern that matches methods, if none of these methods has code on the named lines. */
  problems(): RegionProblem[] {
    const problems: RegionProblem[] = []
    for (const [pattern, noted] of this.#without) {
      if (this.#known.some((it) => it.pattern === pattern)) continue
      const methods = [...noted.values()]
      const bare = methods.find(({ to }) => to === 0)
      problems.push(
        bare === undefined
          ? new RegionNotFound(pattern, methods)
          : new RegionWithoutLines(pattern, bare.method),
      )
    }
    return problems
  }

  /** Returns the ids of a method's regions. */
  idsOf(methodId: number): number[] {
    return (this.#byMethod.get(methodId) ?? []).map((it) => it.id)
  }

  /** Returns the times of each region, in the order of the command line. */
  times(states: readonly RegionState[], scale: TickScale): RegionTimes[] {
    const byId = new Map(states.map((it) => [it.id, it]))
    const order = (it: Known) => this.patterns.indexOf(it.pattern)
    return [...this.#known]
      .sort((a, b) => order(a) - order(b))
      .map(({ region, pattern, methodId }) => {
        const state = byId.get(region.id)
        const durations = state === undefined ? NO_DURATIONS : durationsOf(state, scale)
        return { region: pattern.text, method: methodId, lines: region.lines, ...durations }
      })
  }
}

function dotted(internalName: string): string {
  return internalName.replaceAll('/', '.')
}
