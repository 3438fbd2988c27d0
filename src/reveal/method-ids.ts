// Ids of instrumented methods: consecutive numbers from 1 (or after the ids of waits and classes), in the order in which
// methods are selected. An id is never reused in a session, so arrays here and in the target are indexed by ids.

export interface MethodTarget {
  readonly id: number
  readonly classId: number
  /** Index in the class file's `methods` table. */
  readonly methodIndex: number
  /** Internal name of the class. */
  readonly className: string
  readonly name: string
  readonly descriptor: string
  /** Whether the user named the method as a root. */
  readonly root: boolean
}

export class MethodIds {
  /** Methods, indexed by id minus the first id; undefined for an id that is not a method. */
  readonly #targets: (MethodTarget | undefined)[] = []
  readonly #byPlace = new Map<string, MethodTarget>()
  /** Number of methods with ids per class. */
  readonly #classes = new Map<number, number>()
  /** Number of methods whose classes the target has unloaded. */
  #unloaded = 0
  readonly #without = new Set<number>()

  constructor(private readonly first = 1) {}

  /** Assigns an id to a method. @throws Error if the method has an id already, which callers must prevent */
  add(target: Omit<MethodTarget, 'id'>): MethodTarget {
    const place = `${target.classId}:${target.methodIndex}`
    if (this.#byPlace.has(place)) {
      throw new Error(`method ${target.className}.${target.name}${target.descriptor} revealed twice`)
    }
    const added = { id: this.#targets.length + this.first, ...target }
    this.#targets.push(added)
    this.#byPlace.set(place, added)
    this.#classes.set(target.classId, (this.#classes.get(target.classId) ?? 0) + 1)
    return added
  }

  /** Returns whether a method of this class has an id. Ids outlive their classes, since a profile names them. */
  hasMethodsOf(classId: number): boolean {
    return this.#classes.has(classId)
  }

  find(classId: number, methodIndex: number): MethodTarget | undefined {
    return this.#byPlace.get(`${classId}:${methodIndex}`)
  }

  has(id: number): boolean {
    return this.#targets[id - this.first] !== undefined
  }

  get(id: number): MethodTarget {
    const target = this.#targets[id - this.first]
    if (target === undefined) throw new Error(`no method has id ${id}`)
    return target
  }

  get size(): number {
    return this.#byPlace.size
  }

  /** Number of methods of loaded classes. */
  get loaded(): number {
    return this.size - this.#unloaded
  }

  /** Handles unloaded classes, each at most once. Their methods keep their ids. */
  unloaded(classIds: Iterable<number>): void {
    for (const id of classIds) this.#unloaded += this.#classes.get(id) ?? 0
  }

  /** Marks methods as having no probes, although they have ids. */
  dropped(ids: Iterable<number>): void {
    for (const id of ids) this.#without.add(id)
  }

  /** Marks methods as having probes: new methods, and methods that were `dropped` and then instrumented after all. */
  takenAfterAll(ids: Iterable<number>): void {
    for (const id of ids) this.#without.delete(id)
  }

  get withProbes(): number {
    return this.size - this.#without.size
  }

  /** Assigns an id to a row of a tree that is not a method. */
  reserve(): number {
    return this.#targets.push(undefined) - 1 + this.first
  }

  [Symbol.iterator](): IterableIterator<MethodTarget> {
    return this.#byPlace.values()
  }
}
