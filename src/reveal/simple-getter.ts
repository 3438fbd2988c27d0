// Finds what a step of a value's path reads in objects of one class: a field, a getter whose bytecode only returns a field, or a method
// that runs code. A getter that only returns a field is read as this field, so no code of the program runs. Names do not make a getter:
// only its bytecode counts.

import type { ValueStep } from '../base/value-path.ts'
import {
  ACC_ABSTRACT,
  ACC_NATIVE,
  ACC_PRIVATE,
  ACC_PROTECTED,
  ACC_PUBLIC,
  ACC_STATIC,
  ACC_SYNTHETIC,
} from '../classfile/access.ts'
import { type ClassFile, ClassFormatProblem, type MethodInfo } from '../classfile/class-file.ts'
import { parseCode } from '../classfile/code.ts'
import type { MemberRef } from '../classfile/constant-pool.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'

/** A class that a step may read: the class of the object, and its supertypes. */
export interface ClassOfValue {
  readonly id: number
  readonly file: ClassFile
}

/** `holder` is the id of the class that declares the field or the method. */
export type StepTarget =
  | {
      readonly how: 'field' | 'code'
      readonly holder: number
      readonly name: string
      readonly descriptor: string
    }
  | { readonly how: 'nothing' }

const NOTHING: StepTarget = { how: 'nothing' }

/** Maximum number of methods that a getter may call, one inside the other, before the field is read. */
const MAX_HOPS = 3

/**
 * Returns what the step reads in objects of exactly the first class.
 *
 * @param chain       the class of the object and its superclasses, the class itself first
 * @param interfaces  all interfaces of these classes, in any order
 */
export function targetOfStep(
  { name, isCall }: ValueStep,
  chain: readonly ClassOfValue[],
  interfaces: readonly ClassOfValue[],
): StepTarget {
  try {
    if (!isCall) return fieldNamed(name, chain)
    const method = methodNamed(name, null, chain, interfaces)
    return method === null ? NOTHING : (returnedField(method, chain, interfaces) ?? asCode(method))
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return NOTHING
    throw problem
  }
}

interface Found {
  readonly of: ClassOfValue
  readonly method: MethodInfo
}

function asCode({ of, method }: Found): StepTarget {
  return { how: 'code', holder: of.id, name: method.name, descriptor: method.descriptor }
}

/** A class file may have two fields of one name and different types. Then the name is ambiguous, and nothing is read. */
function fieldNamed(name: string, chain: readonly ClassOfValue[]): StepTarget {
  for (const { id, file } of chain) {
    const fields = file.fields().filter((it) => it.name === name)
    const [field] = fields
    if (field === undefined) continue
    if (fields.length > 1 || (field.access & ACC_STATIC) !== 0) return NOTHING
    return { how: 'field', holder: id, name, descriptor: field.descriptor }
  }
  return NOTHING
}

/**
 * Selects the method without arguments that an object of the first class runs. Compilers add methods with the same name and another result
 * type, which call the method that the source contains.
 */
function methodNamed(
  name: string,
  descriptor: string | null,
  chain: readonly ClassOfValue[],
  interfaces: readonly ClassOfValue[],
): Found | null {
  const fits = (it: MethodInfo): boolean =>
    it.name === name &&
    (descriptor === null
      ? it.descriptor.startsWith('()') && it.descriptor !== '()V'
      : it.descriptor === descriptor) &&
    (it.access & (ACC_STATIC | ACC_ABSTRACT)) === 0
  for (const of of chain) {
    const methods = of.file.methods.filter(fits)
    const method = methods.find((it) => (it.access & ACC_SYNTHETIC) === 0) ?? methods[0]
    if (method !== undefined) return { of, method }
  }
  const defaults = interfaces.flatMap((of) => of.file.methods.filter(fits).map((method) => ({ of, method })))
  const [first] = defaults.filter(
    (it) => !defaults.some((other) => extendsInterface(other.of, it.of, interfaces)),
  )
  return first ?? null
}

/** Returns whether an interface extends another interface. */
function extendsInterface(lower: ClassOfValue, upper: ClassOfValue, all: readonly ClassOfValue[]): boolean {
  const names = [...lower.file.interfaces]
  for (let at = 0; at < names.length && at < all.length; at++) {
    if (names[at] === upper.file.name) return true
    for (const more of all.find((it) => it.file.name === names[at])?.file.interfaces ?? [])
      if (!names.includes(more)) names.push(more)
  }
  return false
}

/** Returns the field that a getter returns; null if the getter does more. */
function returnedField(
  getter: Found,
  chain: readonly ClassOfValue[],
  interfaces: readonly ClassOfValue[],
): StepTarget | null {
  let { of, method } = getter
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    if (method.code === undefined || (method.access & ACC_NATIVE) !== 0) return null
    const { bytecode, handlers } = parseCode(of.file, method)
    if (handlers.length > 0 || bytecode[0] !== op.ALOAD_0) return null
    const opcode = bytecode[1] ?? op.NOP
    const length = opcode === op.INVOKEINTERFACE ? 7 : 5
    const returns = bytecode[length - 1] ?? op.NOP
    if (bytecode.length !== length || returns < op.IRETURN || returns > op.ARETURN) return null
    const isField = opcode === op.GETFIELD
    if (!isField && (opcode < op.INVOKEVIRTUAL || opcode > op.INVOKEINTERFACE || opcode === op.INVOKESTATIC))
      return null
    const ref = of.file.pool.memberRef(u2At(bytecode, 2))
    if (isField) return declared(ref, chain)
    const next =
      opcode === op.INVOKESPECIAL
        ? methodNamed(ref.name, ref.descriptor, from(ref.owner, chain), [])
        : selected(ref, chain, interfaces)
    if (next === null) return null
    ;({ of, method } = next)
  }
  return null
}

/**
 * Selects the method that a virtual call runs. No class overrides a private method. Whether a class overrides a package-private method
 * depends on the loader of the class: then nothing is selected, and the getter is called.
 */
function selected(
  { owner, name, descriptor }: MemberRef,
  chain: readonly ClassOfValue[],
  interfaces: readonly ClassOfValue[],
): Found | null {
  const owners = [...from(owner, chain), ...interfaces.filter(({ file }) => file.name === owner)]
  const resolved = methodNamed(name, descriptor, owners, interfaces)
  if (resolved !== null && (resolved.method.access & ACC_PRIVATE) !== 0) return resolved
  const found = methodNamed(name, descriptor, chain, interfaces)
  if (found === null || (found.method.access & ACC_PRIVATE) !== 0) return null
  const isOpen = resolved === null || (resolved.method.access & (ACC_PUBLIC | ACC_PROTECTED)) !== 0
  return isOpen || found.method === resolved.method ? found : null
}

/** Resolves a reference to a field: the class that the reference names, or its nearest superclass, declares the field. */
function declared({ owner, name, descriptor }: MemberRef, chain: readonly ClassOfValue[]): StepTarget | null {
  for (const { id, file } of from(owner, chain)) {
    const sameName = file.fields().filter((it) => it.name === name)
    const field = sameName.find((it) => it.descriptor === descriptor)
    if (field === undefined) continue
    if (sameName.length > 1 || (field.access & ACC_STATIC) !== 0) return null
    return { how: 'field', holder: id, name, descriptor }
  }
  return null
}

function from(owner: string, chain: readonly ClassOfValue[]): readonly ClassOfValue[] {
  const at = chain.findIndex(({ file }) => file.name === owner)
  return at < 0 ? [] : chain.slice(at)
}
