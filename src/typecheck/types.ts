// Represents verification types (JVMS 4.10.1.2) as numbers, and determines which types are assignable to which.
// The low four bits are a tag, from JVMS 4.7.4 if it defines one. The higher bits are the number of the class name (OBJECT) or the bci of
// the `new` (UNINITIALIZED). A long or double fills two slots; the second slot has its own tag. Equal types are equal numbers.
// Where paths through the code join, an OBJECT may have one of several classes. A merged type has its own number, and `TypeTable` stores
// the classes of this type.
// A `TypeTable` belongs to one class file. It assigns numbers to class names, and caches results.

import { getOrAdd } from '../base/maps.ts'
import { type ClassFile, ClassFormatProblem } from '../classfile/class-file.ts'
import { CONSTANT_CLASS } from '../classfile/constant-pool.ts'
import { parseMethodDescriptor } from '../classfile/descriptor.ts'
import {
  DOUBLE,
  FLOAT,
  INTEGER,
  LONG,
  NULL,
  OBJECT,
  TOP,
  UNINITIALIZED,
  UNINITIALIZED_THIS,
} from '../classfile/stack-map.ts'
import { TypeProblem, Unchecked } from './problem.ts'

export { DOUBLE, FLOAT, INTEGER, LONG, NULL, OBJECT, TOP, UNINITIALIZED, UNINITIALIZED_THIS }

export type Type = number
/** Tags of the second slot of a long and of a double. */
export const LONG_2 = 9
export const DOUBLE_2 = 10

export const ARRAY_MARK = '['
const OBJECT_CLASS = 'java/lang/Object'
const CLONEABLE = 'java/lang/Cloneable'
const SERIALIZABLE = 'java/io/Serializable'
const PROTECTED_IN_OBJECT = new Set(['clone()Ljava/lang/Object;', 'finalize()V'])
/** Maximum dimensions of an array type (JVMS 4.3.2). */
export const MAX_DIMENSIONS = 255
/** Maximum sum of the numbers of classes in all merged types; real code has a few hundred. */
const MAX_MERGED = 1 << 20

/** Answers questions about classes, which are given by name. `undefined` always means that the answer is unknown. */
export interface Hierarchy {
  /**
   * Whether a value of class `from` is assignable to `to`. Both are internal names of two different classes, not arrays; `to` is not
   * Object. The type checker treats an interface like Object: any object is assignable to it (JVMS 4.10.1.2).
   */
  isAssignable(from: string, to: string): boolean | undefined
  /**
   * Whether `by` inherits the member from a superclass that is in another package and declares the member protected (JVMS 4.10.1.8). `by`
   * is a subclass of `owner`, or unrelated to `owner`; if unrelated, the answer is no.
   */
  isProtected?(
    by: string,
    owner: string,
    name: string,
    descriptor: string,
    member: 'field' | 'method',
  ): boolean | undefined
}

/** Types of a method's arguments and result, one entry per slot. */
export interface Signature {
  readonly parameters: readonly Type[]
  /** Slots of the result; empty for void. */
  readonly result: readonly Type[]
}

export class TypeTable {
  readonly #ids = new Map<string, number>()
  readonly #names: string[] = []
  /** Classes of each merged type, indexed by the number in the type's higher bits. */
  readonly #alternatives: (readonly Type[] | undefined)[] = []
  readonly #merged = new Map<string, Type>()
  #mergedClasses = 0
  readonly #ofConstant: Int32Array
  readonly #signatures = new Map<string, Signature>()
  readonly #fields = new Map<string, readonly Type[]>()
  /** Cached answers of the hierarchy: maps `to`, and then `from`, to the answer. */
  readonly #answers = new Map<Type, Map<Type, boolean | string>>()
  readonly object: Type
  readonly throwable: Type
  readonly string: Type
  readonly class: Type
  readonly methodHandle: Type
  readonly methodType: Type
  /** Class that contains the checked code. */
  readonly current: Type
  /** Assumptions that the check of the current method has needed so far. */
  assumptions = new Set<string>()
  /** Permitted assumptions; undefined permits all. */
  allowed: ReadonlySet<string> | undefined
  /** Adds to the number of comparisons for the method; throws when the maximum is exceeded. */
  spend: (steps: number) => void = () => {}

  constructor(
    private readonly classFile: ClassFile,
    private readonly hierarchy: Hierarchy,
  ) {
    this.#ofConstant = new Int32Array(classFile.pool.count)
    this.object = this.named(OBJECT_CLASS)
    this.throwable = this.named('java/lang/Throwable')
    this.string = this.named('java/lang/String')
    this.class = this.named('java/lang/Class')
    this.methodHandle = this.named('java/lang/invoke/MethodHandle')
    this.methodType = this.named('java/lang/invoke/MethodType')
    this.current = this.named(classFile.name)
  }

  named(name: string): Type {
    return OBJECT | (getOrAdd(this.#ids, name, () => this.#names.push(name) - 1) << 4)
  }

  /**
   * Returns the internal name of an OBJECT; for an array its descriptor. For a merged type, returns the name of the first class. That is
   * sufficient: either all classes of the type are arrays of objects with equal dimensions, or none is an array.
   */
  name(type: Type): string {
    return this.#names[type >>> 4]
  }

  /** Returns the type as shown in messages. */
  show(type: Type): string {
    const tag = type & 15
    if (tag === OBJECT)
      return this.#choice(type)
        .map((it) => this.name(it))
        .join(' or ')
    if (tag === UNINITIALIZED) return `uninitialized(${type >>> 4})`
    return TAG_NAMES[tag]
  }

  isArray(type: Type): boolean {
    return (type & 15) === OBJECT && this.name(type).startsWith(ARRAY_MARK)
  }

  /** Returns the class type of a constant, or -1 if the constant is not a class. */
  constant(index: number): Type {
    const { pool } = this.classFile
    if (pool.tag(index) !== CONSTANT_CLASS) return -1
    const known = this.#ofConstant[index]
    if (known !== 0) return known
    const type = this.named(pool.className(index))
    this.#ofConstant[index] = type
    return type
  }

  /** Returns the slots of a value with this field descriptor. A boolean, byte, char or short counts as an int. */
  field(descriptor: string): readonly Type[] {
    return getOrAdd(this.#fields, descriptor, () => {
      const { parameters } = parseMethodDescriptor(`(${descriptor})V`)
      if (parameters.length !== 1) throw new ClassFormatProblem('a descriptor of no field')
      return this.#slots(descriptor)
    })
  }

  signature(descriptor: string): Signature {
    return getOrAdd(this.#signatures, descriptor, () => {
      const { parameters, returnType } = parseMethodDescriptor(descriptor)
      return {
        parameters: parameters.flatMap((parameter) => this.field(parameter)),
        result: returnType === 'V' ? [] : this.field(returnType),
      }
    })
  }

  #slots(descriptor: string): Type[] {
    switch (descriptor[0]) {
      case 'J':
        return [LONG, LONG_2]
      case 'D':
        return [DOUBLE, DOUBLE_2]
      case 'F':
        return [FLOAT]
      case 'L':
        return [this.named(descriptor.slice(1, -1))]
      case ARRAY_MARK:
        return [this.named(descriptor)]
      default:
        return [INTEGER]
    }
  }

  /** Returns the element type of an array; TOP for an array of primitives. */
  component(array: Type): Type {
    const alternatives = this.#alternatives[array >>> 4]
    if (alternatives !== undefined) {
      return alternatives.map((it) => this.component(it)).reduce((a, b) => this.merge(a, b))
    }
    const name = this.name(array)
    if (name[1] === 'L') return this.named(name.slice(2, -1))
    return name[1] === ARRAY_MARK ? this.named(name.slice(1)) : TOP
  }

  /** Returns whether `from` is assignable to `to`. If the hierarchy does not know, this becomes an assumption, if it is permitted. */
  isAssignable(from: Type, to: Type, bci: number): boolean {
    if (from === to || to === TOP) return true
    const fromTag = from & 15
    if ((to & 15) !== OBJECT) return false // only null is assignable to null
    if (fromTag === NULL) return true
    if (fromTag !== OBJECT) return false
    if (to === this.object) return true
    const alternatives = this.#alternatives[from >>> 4]
    if (alternatives !== undefined) {
      this.spend(alternatives.length)
      return alternatives.every((it) => this.isAssignable(it, to, bci))
    }
    const answers = getOrAdd(this.#answers, to, () => new Map<Type, boolean | string>())
    let answer = answers.get(from)
    if (answer === undefined) {
      answer = this.#ask(this.name(from), this.name(to))
      answers.set(from, answer)
    }
    if (typeof answer === 'boolean') return answer
    return this.assume(answer, bci)
  }

  /** @throws TypeProblem if the assumption is not permitted */
  assume(what: string, bci: number): true {
    if (this.allowed !== undefined && !this.allowed.has(what)) throw new TypeProblem(bci, `needs ${what}`)
    this.assumptions.add(what)
    return true
  }

  /**
   * Returns the type of a slot that is `a` on one path and `b` on the other path; TOP if no type fits both. The result is assignable to
   * every type to which both `a` and `b` are assignable, like their first common superclass.
   */
  merge(a: Type, b: Type): Type {
    if (a === b) return a
    const isObject = (a & 15) === OBJECT
    if ((b & 15) === OBJECT) {
      if ((a & 15) === NULL) return b
    } else {
      return isObject && (b & 15) === NULL ? a : TOP
    }
    if (!isObject) return TOP
    if (a === this.object || b === this.object) return this.object
    return getOrAdd(this.#merged, `${a} ${b}`, () => this.#mergeObjects(a, b))
  }

  /** Merges as HotSpot's merge_fullinfo_types (check_code.c) does, but does not search for the common superclass. */
  #mergeObjects(a: Type, b: Type): Type {
    const [one, other] = [this.#shape(a), this.#shape(b)]
    const dimensions = Math.min(one.dimensions, other.dimensions)
    const classes = new Set(
      one.dimensions === other.dimensions ? [...one.classes, ...other.classes] : [OBJECT_CLASS],
    )
    if (classes.has(OBJECT_CLASS)) return this.#array(dimensions, OBJECT_CLASS)
    this.spend(classes.size)
    const sorted = [...classes].map((it) => this.#array(dimensions, it)).sort((x, y) => x - y)
    return sorted.length === 1 ? sorted[0] : this.#oneOf(sorted)
  }

  #shape(type: Type): { dimensions: number; classes: readonly string[] } {
    const shapes = this.#choice(type).map((it) => shapeOf(this.name(it)))
    return { dimensions: shapes[0].dimensions, classes: shapes.map((it) => it.element) }
  }

  /** Returns the possible classes of an OBJECT. */
  #choice(type: Type): readonly Type[] {
    return ((type & 15) === OBJECT ? this.#alternatives[type >>> 4] : undefined) ?? [type]
  }

  #array(dimensions: number, name: string): Type {
    return this.named(dimensions === 0 ? name : `${ARRAY_MARK.repeat(dimensions)}L${name};`)
  }

  #oneOf(classes: readonly Type[]): Type {
    return getOrAdd(this.#merged, classes.join(), () => {
      const id = this.#names.push(this.name(classes[0])) - 1
      this.#mergedClasses += classes.length
      if (this.#mergedClasses > MAX_MERGED) throw new Unchecked('it merges too many classes')
      this.#alternatives[id] = classes
      return OBJECT | (id << 4)
    })
  }

  /** Returns whether `from` is assignable to `to`; if this is unknown, the assumption as text. */
  #ask(from: string, to: string): boolean | string {
    let wanted = to
    let given = from
    while (wanted.startsWith(ARRAY_MARK)) {
      if (!given.startsWith(ARRAY_MARK)) return false
      // Compares element types. Two different primitive types are not assignable; equal types were handled above.
      if (wanted[1] !== 'L' && wanted[1] !== ARRAY_MARK) return false
      if (given[1] !== 'L' && given[1] !== ARRAY_MARK) return false
      wanted = elementName(wanted)
      given = elementName(given)
      if (wanted === given || wanted === OBJECT_CLASS) return true
    }
    if (given.startsWith(ARRAY_MARK)) return wanted === CLONEABLE || wanted === SERIALIZABLE
    return this.#askClasses(given, wanted) ?? `${given} assignable to ${wanted}`
  }

  #askClasses(from: string, to: string): boolean | undefined {
    const { name, superName, interfaces } = this.classFile
    if (from === name && to === superName) return true
    if (interfaces.includes(to)) return true
    return this.hierarchy.isAssignable(from, to)
  }

  #isProtected(
    owner: string,
    name: string,
    descriptor: string,
    member: 'field' | 'method',
  ): boolean | undefined {
    const { name: by, superName } = this.classFile
    if (owner === OBJECT_CLASS) {
      const inObject = PROTECTED_IN_OBJECT.has(name + descriptor)
      return inObject && packageOf(by) !== packageOf(owner)
    }
    if (superName === OBJECT_CLASS || superName === null) return false
    return this.hierarchy.isProtected?.(by, owner, name, descriptor, member)
  }

  /**
   * Checks access to a member that may be protected (JVMS 4.10.1.8): if it is protected, `target` must be the current class or a subclass
   * of it.
   */
  checkProtected(
    owner: Type,
    name: string,
    descriptor: string,
    member: 'field' | 'method',
    target: Type,
    bci: number,
  ): void {
    if (target === this.current || owner === this.current || target === NULL) return
    if (this.#choice(target).length > 1) {
      for (const it of this.#choice(target)) this.checkProtected(owner, name, descriptor, member, it, bci)
      return
    }
    const ownerName = this.name(owner)
    if (ownerName.startsWith(ARRAY_MARK)) return
    if (ownerName === OBJECT_CLASS && name === 'clone' && this.isArray(target)) return
    const known = this.#isProtected(ownerName, name, descriptor, member)
    if (known === false) return
    if (known === undefined) {
      this.assume(`${this.show(target)} good for ${ownerName}.${name}${descriptor} if it is protected`, bci)
    } else if (!this.isAssignable(target, this.current, bci)) {
      throw new TypeProblem(bci, `protected ${ownerName}.${name} of a ${this.show(target)}`)
    }
  }
}

function packageOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf('/'), 0))
}

/** Returns the shape of an array type. An array of primitives counts as an array of objects with one dimension less. */
function shapeOf(name: string): { dimensions: number; element: string } {
  let dimensions = 0
  while (name[dimensions] === ARRAY_MARK) dimensions++
  if (dimensions === 0) return { dimensions, element: name }
  if (name[dimensions] !== 'L') return { dimensions: dimensions - 1, element: OBJECT_CLASS }
  return { dimensions, element: name.slice(dimensions + 1, -1) }
}

/** Returns the element name of an array of references. */
function elementName(array: string): string {
  return array[1] === 'L' ? array.slice(2, -1) : array.slice(1)
}

const TAG_NAMES = [
  'top',
  'int',
  'float',
  'double',
  'long',
  'null',
  'uninitializedThis',
  '',
  '',
  'the upper half of a long',
  'the upper half of a double',
]
