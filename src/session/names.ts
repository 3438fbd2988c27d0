// Names for the ids in events and nodes, for views and profiles.

import { allocationName, isClassId, NOT_ATTRIBUTED_NAME } from '../cct/allocation.ts'
import type { CallTable } from '../cct/call-ids.ts'
import { COLLAPSED } from '../cct/nodes.ts'
import { COLLAPSED_NAME, type MethodName, type Snapshot, type Tree } from '../cct/tree.ts'
import { NOT_ATTRIBUTED } from '../events/event-layout.ts'
import { METRICS } from '../measures/columns.ts'
import { type WaitedClass, waitName } from './code/wait-points.ts'
import type { Engine } from './engine.ts'
import { firstMethodOf, modeOf } from './session-options.ts'
import { sourceName } from './target-classes.ts'

type NameSources = Pick<
  Engine,
  'options' | 'revealer' | 'classes' | 'recorder' | 'sites' | 'inside' | 'unprobed' | 'values'
>

export class Names {
  readonly #firstMethod: number
  /** Classes of the objects that threads waited for, keyed by the id of the wait row. */
  readonly #waited = new Map<number, WaitedClass>()
  /** Table from the node ids of the latest snapshot to methods and call sites; null if node ids are method ids. */
  #calls: CallTable | null = null

  constructor(private readonly from: NameSources) {
    this.#firstMethod = firstMethodOf(from.options)
  }

  /** Uses the table of this snapshot for node ids from now on. */
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

  /** Returns the name for a node id: a method with its call site, or the class of an allocated object. */
  of(id: number): MethodName {
    if (this.#calls === null) return this.#ownName(id)
    const name = this.#ownName(this.#calls.method[id] ?? 0)
    const site = this.from.sites?.site(this.#calls.site[id] ?? 0)
    // The JVM calls class initializers itself, when a class is first used.
    if (site === undefined || name.method === '<clinit>') return name
    return { ...name, bci: site.bci, ...(site.line !== undefined && { line: site.line }) }
  }

  /** Returns all names, indexed by node id. */
  all(): MethodName[] {
    const names: MethodName[] = [{ class: '', method: '', descriptor: '', loader: '' }]
    for (let id = 1; id < this.#firstMethod; id++) names[id] = this.of(id)
    const methods = this.#calls
      ? this.#calls.method.keys()
      : Array.from(this.from.revealer.methods, ({ id }) => id)
    const areClasses = METRICS[modeOf(this.from.options)].hasClasses
    for (const id of methods) if (id > 0 && !(areClasses && id <= NOT_ATTRIBUTED)) names[id] = this.of(id)
    for (const [id, name] of this.from.values?.names() ?? []) names[id] = name
    for (const [id, name] of this.from.inside?.names() ?? []) names[id] = name
    for (const [id, name] of this.from.unprobed?.names() ?? []) names[id] = name
    for (const id of this.from.recorder.classNames.keys()) names[id] = this.of(id)
    return names
  }

  #ownName(id: number): MethodName {
    const { options, recorder } = this.from
    if (id === COLLAPSED) return COLLAPSED_NAME
    if (id < this.#firstMethod) return waitName(id, this.#waited.get(id))
    if (METRICS[modeOf(options)].hasClasses) {
      if (id === NOT_ATTRIBUTED) return NOT_ATTRIBUTED_NAME
      if (isClassId(id)) return allocationName(recorder.classNames.get(id) ?? '?')
    }
    return this.ofMethod(id)
  }

  /** Returns the name for a method id. */
  ofMethod(id: number): MethodName {
    const { revealer, classes, inside, unprobed, values } = this.from
    if (!revealer.methods.has(id))
      return values?.name(id) ?? inside?.name(id) ?? unprobed?.name(id) ?? placeholderName(id)
    const m = revealer.methods.get(id)
    return {
      class: sourceName(m.className),
      method: m.name,
      descriptor: m.descriptor,
      loader: classes.loaderName(m.classId),
    }
  }
}

/** Returns a name for an id that was never assigned. Such an id is read if the target has overwritten its event buffer. */
function placeholderName(id: number): MethodName {
  return { class: '?', method: `#${id}`, descriptor: '', loader: '' }
}

/** Returns the names, extended by a name for each unknown id in a tree. */
export function withPlaceholders(names: MethodName[], trees: readonly Pick<Tree, 'method'>[]): MethodName[] {
  const known = names.length
  for (const { method } of trees) {
    for (const id of method) names[id] ??= placeholderName(id)
  }
  for (let id = known; id < names.length; id++) names[id] ??= placeholderName(id)
  return names
}
