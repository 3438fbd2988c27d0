// Names for the ids in events and nodes, for views and profiles.

import { allocationName, isClassId } from '../cct/allocation.ts'
import type { CallTable } from '../cct/call-ids.ts'
import { COLLAPSED } from '../cct/nodes.ts'
import { COLLAPSED_NAME, type MethodName, type Snapshot, type Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { type WaitedClass, waitName } from './code/wait-points.ts'
import type { Engine } from './engine.ts'
import { firstMethodOf, modeOf } from './session-options.ts'
import { sourceName } from './target-classes.ts'

type NameSources = Pick<Engine, 'options' | 'revealer' | 'classes' | 'recorder' | 'sites' | 'inside'>

export class Names {
  readonly #firstMethod: number
  /** Classes of the objects that threads waited for, keyed by id. */
  readonly #waited = new Map<number, WaitedClass>()
  /** Methods and call sites of the node ids of the latest picture; null if node ids are method ids. */
  #calls: CallTable | null = null

  constructor(private readonly from: NameSources) {
    this.#firstMethod = firstMethodOf(from.options)
  }

  /** From now on, node ids are those of this picture. */
  show({ calls }: Snapshot): void {
    this.#calls = calls ?? null
  }

  waited(id: number, waited: WaitedClass): void {
    this.#waited.set(id, waited)
  }

  /** Returns the method of a node id. Returns the id itself if node ids are method ids. */
  methodOf(id: number): number {
    return this.#calls === null ? id : (this.#calls.method[id] ?? 0)
  }

  /** Name of a node id: a method with its call site, or the class of an allocated object. */
  of(id: number): MethodName {
    if (this.#calls === null) return this.#ownName(id)
    const name = this.#ownName(this.#calls.method[id] ?? 0)
    const site = this.from.sites?.site(this.#calls.site[id] ?? 0)
    // The JVM calls class initializers itself, when a class is first used.
    if (site === undefined || name.method === '<clinit>') return name
    return { ...name, bci: site.bci, ...(site.line !== undefined && { line: site.line }) }
  }

  /** All names, indexed by id. */
  all(): MethodName[] {
    const names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
    for (let id = 1; id < this.#firstMethod; id++) names[id] = this.of(id)
    const methods = this.#calls
      ? this.#calls.method.keys()
      : Array.from(this.from.revealer.methods, ({ id }) => id)
    const areClasses = METRICS[modeOf(this.from.options)].hasClasses
    for (const id of methods) if (id > 0 && !(areClasses && isClassId(id))) names[id] = this.of(id)
    for (const [id, name] of this.from.inside?.names() ?? []) names[id] = name
    for (const id of this.from.recorder.classNames.keys()) names[id] = this.of(id)
    return names
  }

  #ownName(id: number): MethodName {
    const { options, recorder } = this.from
    if (id === COLLAPSED) return COLLAPSED_NAME
    if (id < this.#firstMethod) return waitName(id, this.#waited.get(id))
    if (METRICS[modeOf(options)].hasClasses && isClassId(id))
      return allocationName(recorder.classNames.get(id) ?? '?')
    return this.ofMethod(id)
  }

  /** Name of a method id. */
  ofMethod(id: number): MethodName {
    const { revealer, classes, inside } = this.from
    if (!revealer.methods.has(id)) return inside?.name(id) ?? placeholderName(id)
    const m = revealer.methods.get(id)
    return {
      class: sourceName(m.className),
      method: m.name,
      descriptor: m.descriptor,
      loader: classes.loaderName(m.classId),
    }
  }
}

/** Name of an id that was never assigned: the target has overwritten its event buffer. */
function placeholderName(id: number): MethodName {
  return { class: '?', method: `#${id}`, descriptor: '', loader: '' }
}

/** Returns the names, extended by a name for each unknown id in a tree. */
export function withPlaceholders(names: MethodName[], trees: readonly Tree[]): MethodName[] {
  const known = names.length
  for (const { method } of trees) {
    for (const id of method) names[id] ??= placeholderName(id)
  }
  for (let id = known; id < names.length; id++) names[id] ??= placeholderName(id)
  return names
}
