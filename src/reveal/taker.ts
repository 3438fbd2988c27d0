// Decides about each reached method once: the method gets an id, or a reason why it is not instrumented. A method that is not
// instrumented is passed through, opens the gate, or adds sites that native code may call (see `reach.ts`).

import { CLASS_UNMODIFIABLE } from '../base/class-info.ts'
import { debug } from '../base/debug.ts'
import { ACC_ABSTRACT, ACC_NATIVE } from '../classfile/access.ts'
import { classNames } from '../classfile/descriptor.ts'
import type { Classes, MethodFilter } from './classes.ts'
import { deniedClass, deniedMethod } from './deny-list.ts'
import { type ClassNode, isHidden, isJdk, mayBeInitialised, plainName } from './hierarchy.ts'
import { GATE_ANY, GATE_CLOSED, GATE_FULL, gateOf } from './leaf-calls.ts'
import { type LoadedSite, type MethodRef, placeOf } from './linker.ts'
import type { MethodIds, MethodTarget } from './method-ids.ts'

export interface Skipped {
  /** Internal name. */
  readonly className: string
  /** Method name and descriptor; `*` for the whole class. */
  readonly method: string
  readonly descriptor: string
  readonly reason: string
}

/** A reached method that has no id. */
type WithoutId = Omit<MethodTarget, 'id' | 'root'>

const HIDDEN =
  'hidden class, defined before the session or outside a root: calls of its methods, and calls made only by them, are missing'

export class Taker {
  /** Methods selected since the scheme last read this list. */
  fresh: MethodTarget[] = []
  /** Methods skipped since the session last read this list. */
  skipped: Skipped[] = []
  /** Level of the gate: how much application code may be called back by code that is not analysed. */
  gate = GATE_CLOSED
  /** Whether a reached call may use reflection: Method.invoke and Constructor.newInstance need their hook. */
  reflection = false
  /** Whether a method was not selected because the maximum number of methods was reached. */
  isFull = false
  /** Methods that are passed through (they send no first-invocation event) and whose callees are not selected yet. */
  passed: MethodRef[] = []
  /** Sites that native methods may call and that are not reached yet. */
  owed: LoadedSite[] = []
  readonly #decided = new Set<string>()
  readonly #skippedOnce = new Set<string>()
  /** Methods excluded by the user during the session. */
  #isLeftOut: MethodFilter = () => false
  readonly #leftOut = new Map<string, WithoutId>()

  /** @param most  maximum number of methods of loaded classes, besides roots */
  constructor(
    private readonly classes: Classes,
    private readonly ids: MethodIds,
    private readonly most: number,
  ) {}

  /** Decides about a method, unless it has been decided. Returns the method if it gets an id, otherwise null. */
  take(ref: MethodRef, root = false): MethodTarget | null {
    const { node, method } = ref
    if ((method.access & ACC_ABSTRACT) !== 0) return null
    const place = placeOf(ref)
    if (this.#decided.has(place)) return null
    // A class initialiser that has run does not run again.
    if (method.name === '<clinit>' && !mayBeInitialised(node) && !root) return null
    this.#decided.add(place)
    const { index: methodIndex, name, descriptor } = method
    const target = { classId: node.id, methodIndex, className: node.name, name, descriptor }
    if (node.followed && !root && !this.classes.includes(node, method)) {
      this.#leadOn(ref)
      return null
    }
    const reason = this.#reasonToSkip(ref)
    if (reason !== null) {
      this.skip(node.name, name, descriptor, reason)
      return null
    }
    if (!root && this.#isLeftOut(node.name, name, descriptor)) {
      this.#leftOut.set(place, target)
      return null
    }
    if (!root && this.ids.loaded >= this.most) {
      this.isFull = true
      return null
    }
    const taken = this.ids.add({ ...target, root })
    this.fresh.push(taken)
    return taken
  }

  /** Follows the callees of a method that is not instrumented. */
  #leadOn(ref: MethodRef): void {
    const { node, method } = ref
    const denied = isJdk(node) ? deniedClass(node.name) : null
    if (denied !== null) this.skip(node.name, '*', '', denied)
    if ((method.access & ACC_NATIVE) === 0) this.passed.push(ref)
    else if (isJdk(node)) this.openGate(gateOf([node.name], method.name, method.descriptor))
    else this.#enterNative(ref)
  }

  /** Decides again about methods that have no id. */
  takeAgain(methods: readonly Pick<MethodTarget, 'classId' | 'methodIndex'>[]): void {
    for (const method of methods) {
      const ref = this.classes.refOf(method)
      if (ref === null || this.ids.find(method.classId, method.methodIndex) !== undefined) continue
      this.#decided.delete(placeOf(ref))
      this.take(ref)
    }
  }

  /** Sets the filter of excluded methods. Selects the methods that are no longer excluded. */
  leaveOut(isLeftOut: MethodFilter): void {
    this.#isLeftOut = isLeftOut
    const back = [...this.#leftOut].filter(
      ([, { className, name, descriptor }]) => !isLeftOut(className, name, descriptor),
    )
    for (const [place] of back) this.#leftOut.delete(place)
    this.takeAgain(back.map(([, method]) => method))
  }

  #reasonToSkip(ref: MethodRef): string | null {
    const { node, method } = ref
    if ((method.access & ACC_NATIVE) !== 0) {
      if (!isJdk(node)) {
        this.#enterNative(ref)
        return 'native: methods that it calls by name, in classes that are not passed to it, may be missing'
      }
      this.openGate(gateOf([node.name], method.name, method.descriptor)) // native code can call back, and use reflection
      return node.included ? 'native: JDK methods that it calls by name may be missing' : 'native'
    }
    const denied = deniedMethod(node.name, method.name)
    if (denied !== null) return denied
    if (isHidden(node)) return HIDDEN
    if (this.classes.isIntrinsic(ref)) {
      this.passed.push(ref)
      return 'intrinsic: the compiler may replace it; its time counts for its caller'
    }
    if ((node.flags & CLASS_UNMODIFIABLE) !== 0) {
      this.passed.push(ref)
      return 'the JVM does not allow changes to its class'
    }
    return null
  }

  /**
   * Handles a native method of the application. Through JNI it may call any method by name, including private methods: in its own
   * class, and in the classes of its arguments.
   */
  #enterNative({ node, method }: MethodRef): void {
    this.openGate(GATE_ANY)
    for (const owner of new Set([node.name, ...classNames(method.descriptor)])) {
      this.owed.push({ site: { kind: 'any', owner, family: true }, loader: node.loader })
    }
  }

  skip(className: string, method: string, descriptor: string, reason: string): void {
    const key = `${className}.${method}${descriptor}`
    if (this.#skippedOnce.has(key)) return
    this.#skippedOnce.add(key)
    this.skipped.push({ className, method, descriptor, reason })
  }

  /** All hidden classes with the same name are one entry: a program may define and unload them all the time. */
  skipHidden(node: ClassNode): void {
    this.skip(`${plainName(node)}+0x…`, '*', '', HIDDEN)
  }

  openGate(level: number): void {
    if (level > this.gate) {
      this.gate = level
      debug.reveal?.(`code that is not read may call back from now on: gate level ${level} of ${GATE_FULL}`)
    }
    if (level >= GATE_FULL) this.reflection = true
  }

  isDecided(ref: MethodRef): boolean {
    return this.#decided.has(placeOf(ref))
  }

  unloaded(classes: ReadonlySet<number>, loaders: ReadonlySet<number>): void {
    this.ids.unloaded(classes)
    for (const id of classes) {
      const methods = this.classes.mirrors.get(id)?.methods ?? []
      for (const { index } of methods) {
        this.#decided.delete(`${id}:${index}`)
        this.#leftOut.delete(`${id}:${index}`)
      }
    }
    this.passed = this.passed.filter((it) => !classes.has(it.node.id))
    this.owed = this.owed.filter((it) => !loaders.has(it.loader))
  }
}
