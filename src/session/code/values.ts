// Values of root calls (--show, --by): what the target reads, and the rows `by=…` of the values.
//
// The target knows the class of an object on a path only when it reads the object, and asks the client once for each class and step. The
// client finds the answer in the class file: a field, or a method. No thread of the target waits for an answer.

import type { ValueStart } from '../../base/value-path.ts'
import type { MethodName } from '../../cct/tree.ts'
import { isValueRow, type ValueRows } from '../../cct/value-rows.ts'
import { printable } from '../../cct/value-texts.ts'
import { ACC_INTERFACE } from '../../classfile/access.ts'
import { readableClassFile } from '../../classfile/recent.ts'
import { plural, timeText } from '../../profile/text.ts'
import { NO_VALUE, type ValueFacts, valueRow } from '../../profile/values.ts'
import type { MethodTarget } from '../../reveal/method-ids.ts'
import { dotted } from '../../reveal/patterns.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import { type ClassOfValue, targetOfStep } from '../../reveal/simple-getter.ts'
import { NoSuchValue, startProblem } from '../../reveal/value-start.ts'
import { AgentRefused } from '../../wire/link.ts'
import type { ValueCounts } from '../../wire/messages.ts'
import type { Engine } from '../engine.ts'
import { valueRowsOf } from '../session-options.ts'
import { BY, type Path, pathsOf, valueStartsOf } from './value-paths.ts'

/** Rows that are no values, by their distance from the first row (JFluid1Values). */
const OTHER = 0
const NOT_READ = 65
const NONE = 66
const NOT_READABLE = 67
const SWITCHED_OFF = 68
const TOO_MANY_CLASSES = 69

/** Number of classes whose objects the target reads in a step (JFluid1Values). */
const MAX_CLASSES = 64

/** Kinds of the answer for a class and a step (wire/messages.ts). */
const HOW = { field: 1, getter: 2, needsCall: 3, nothing: 4 } as const

export class Values {
  readonly warnings = new Set<string>()
  /** Rows of --by; undefined without --by. */
  readonly rows: ValueRows | undefined
  #counts: ValueCounts | null = null
  readonly #paths: readonly Path[]
  readonly #starts: readonly ValueStart[]
  /** Whether --by has met a method that runs code, without --call-getters. */
  #needsCall = false
  /** Warnings from the latest counts. */
  #counted: readonly string[] = []

  constructor(
    private readonly engine: Pick<
      Engine,
      'options' | 'agent' | 'classes' | 'revealer' | 'recorder' | 'instrumenter' | 'turns' | 'installation'
    >,
  ) {
    const { options, revealer } = engine
    this.#paths = pathsOf(options)
    this.#starts = valueStartsOf(options)
    this.rows = valueRowsOf(options)
    for (let id = this.rows?.first ?? 0; id > 0 && id <= this.rows!.last; id++) revealer.methods.reserve()
  }

  /**
   * Checks whether a method of the roots has each value, and tells the target which values to read. Called before anything is redefined.
   *
   * @throws NoSuchValue
   */
  async begin({ instrument }: Revelation): Promise<void> {
    const roots = instrument.filter(({ root }) => root)
    for (const path of this.#paths) {
      const problems = roots.map((it) => startProblem(path, this.#rootOf(it)))
      const [problem] = problems
      if (problem !== undefined && problem !== null && problems.every((it) => it !== null))
        throw new NoSuchValue(path.option, problem)
    }
    const rows = Array.from({ length: BY + 1 }, (_, index) => {
      const path = this.#paths.find((it) => it.index === index)
      return path === undefined ? null : ([this.#starts.indexOf(path.start), path.steps.length] as const)
    })
    await this.engine.agent.values(rows, this.rows?.first ?? -1, this.#starts.indexOf('thrown'))
  }

  #rootOf({ classId, methodIndex, className, name, descriptor }: MethodTarget) {
    const { mirrors } = this.engine.revealer.classes
    const access = mirrors.get(classId)?.methods[methodIndex]?.access ?? 0
    return { className: dotted(className), name, descriptor, access }
  }

  /** Answers how the target reads a step in objects of a class. */
  valueClass(index: number, step: number, classId: number): void {
    void this.engine.turns.enqueue(async () => {
      const path = this.#paths.find((it) => it.index === index)
      const wanted = path?.steps[step]
      if (path === undefined || wanted === undefined) return
      const { agent, options } = this.engine
      const chain = await this.#classesOf(classId)
      const found = targetOfStep(wanted, chain.supers, chain.interfaces)
      const named = `${path.option}: ${chain.name}.${wanted.name}${wanted.isCall ? '()' : ''}`
      /** Returns whether the class is still loaded. Of an unloaded class, no value is missing. */
      const isNotRead = async (how: number): Promise<boolean> =>
        await agent.valueStep(index, step, classId, how, { holder: classId, name: '', descriptor: '' })
      if (found.how === 'nothing') {
        if (await isNotRead(HOW.nothing))
          this.warnings.add(`${named} does not exist, or is not readable: the value is not read`)
        return
      }
      if (found.how === 'code' && options.callGetters !== true) {
        if (index === BY) this.#needsCall = true
        if (await isNotRead(HOW.needsCall))
          this.warnings.add(`${named} runs code: add --call-getters, or use a field`)
        return
      }
      const how = found.how === 'field' ? HOW.field : HOW.getter
      try {
        await agent.valueStep(index, step, classId, how, found)
      } catch (error) {
        if (!(error instanceof AgentRefused)) throw error
        if (await isNotRead(HOW.nothing)) this.warnings.add(`${named} cannot be read: ${error.reason}`)
      }
    })
  }

  /** Reads the class files of a class and its supertypes. A superclass that the JVM does not provide ends the chain. */
  async #classesOf(classId: number) {
    const { installation, instrumenter, revealer } = this.engine
    const { hierarchy } = revealer.classes
    if (hierarchy.get(classId) === undefined) await installation.refreshClasses()
    const node = hierarchy.get(classId)
    if (node === undefined) return { name: '?', supers: [], interfaces: [] }
    const above = hierarchy.ancestors(node).filter((it) => it !== node)
    const nodes = [node, ...above]
    const bytes = await instrumenter.classBytes(nodes.map(({ id }) => id))
    const read = new Map<number, ClassOfValue>()
    for (const [i, { id }] of nodes.entries()) {
      const file = bytes[i] ? readableClassFile(bytes[i]) : null
      if (file !== null) read.set(id, { id, file })
    }
    const supers: ClassOfValue[] = []
    for (let at = read.get(node.id), id = node.id; at !== undefined; at = read.get(id)) {
      supers.push(at)
      const [up] = hierarchy.get(id)?.supers ?? []
      if (up === undefined) break
      id = up
    }
    const interfaces = above
      .filter((it) => (it.access & ACC_INTERFACE) !== 0)
      .flatMap(({ id }) => read.get(id) ?? [])
    return { name: dotted(node.name), supers, interfaces }
  }

  /** Reads from the target what reading values has cost. */
  async poll(): Promise<void> {
    const counts = await this.engine.agent.valueCounts()
    this.#counts = counts
    for (const { path, step, ns } of counts.off) {
      const found = this.#paths.find(({ index }) => index === path)
      if (found === undefined) continue
      this.warnings.add(
        `${found.option}: ${found.steps[step]?.name ?? '?'}() took ${timeText(ns)} and is not called again: later values are not read`,
      )
    }
    for (const old of this.#counted) this.warnings.delete(old)
    this.#counted = [...this.#tooMany(counts), ...this.#named(counts)]
    for (const warning of this.#counted) this.warnings.add(warning)
  }

  *#tooMany({ tooMany }: ValueCounts): Generator<string> {
    for (const { path, step, values } of tooMany) {
      const found = this.#paths.find(({ index }) => index === path)
      if (found !== undefined)
        yield `${found.option}: ${plural(values, 'value')} not read, since ${found.steps[step]?.name ?? '?'} is read in objects of at most ${MAX_CLASSES} classes`
    }
  }

  *#named({ named }: ValueCounts): Generator<string> {
    for (const path of this.#paths) {
      // The class of an exception says what happened.
      if (!named.includes(path.index) || (path.start === 'thrown' && path.steps.length === 0)) continue
      yield `${path.option}: all values are names of classes: add a field to the path, or a method such as toString() and --call-getters`
    }
  }

  facts(): ValueFacts {
    const { show = [], by, callGetters } = this.engine.options
    const {
      getterCalls = 0,
      getterNs = 0,
      longestNs = 0,
      late = 0,
      threw = 0,
      dropped = 0,
    } = this.#counts ?? {}
    return {
      show,
      ...(by !== undefined && { by }),
      ...(callGetters === true && { getters: { calls: getterCalls, ns: getterNs, longestNs, late, threw } }),
      dropped,
    }
  }

  /** Returns the name of a row of --by; undefined for other ids. */
  name(id: number): MethodName | undefined {
    const rows = this.rows
    if (rows === undefined || !isValueRow(id, rows)) return undefined
    return { class: '', method: valueRow(this.#rowText(id - rows.first)), descriptor: '', loader: '' }
  }

  *names(): Generator<readonly [id: number, name: MethodName]> {
    const { first, last } = this.rows ?? { first: 1, last: 0 }
    for (let id = first; id <= last; id++) yield [id, this.name(id)!]
  }

  #rowText(row: number): string {
    switch (row) {
      case OTHER:
        return NO_VALUE.other
      case NOT_READ:
        return NO_VALUE.notRead
      case NONE:
        return NO_VALUE.none
      case NOT_READABLE:
        return this.#needsCall ? NO_VALUE.needsCall : NO_VALUE.notReadable
      case SWITCHED_OFF:
        return NO_VALUE.switchedOff
      case TOO_MANY_CLASSES:
        return NO_VALUE.tooManyClasses
      default: {
        const told = this.engine.recorder.classNames.get(row)
        return told === undefined ? '?' : printable(told.replace(/\0.*$/s, ''))
      }
    }
  }
}
