// Descriptors (JVMS 4.3): parameter and return types of methods, and their slots.

import { ClassFormatProblem } from './problem.ts'

const OPEN = 0x28 // (
const CLOSE = 0x29 // )
const ARRAY = 0x5b // [
const CLASS = 0x4c // L

export interface MethodDescriptor {
  /** Field descriptors of the parameters: `I`, `[J`, `Ljava/lang/String;` */
  readonly parameters: readonly string[]
  /** Field descriptor of the result, or `V`. */
  readonly returnType: string
}

/** @throws ClassFormatProblem for a malformed method descriptor */
export function parseMethodDescriptor(descriptor: string): MethodDescriptor {
  if (descriptor.charCodeAt(0) !== OPEN) malformed(descriptor)
  const parameters: string[] = []
  let at = 1
  while (descriptor.charCodeAt(at) !== CLOSE) {
    const end = typeEnd(descriptor, at)
    parameters.push(descriptor.slice(at, end))
    at = end
  }
  const returnType = descriptor.slice(at + 1)
  if (returnType !== 'V' && typeEnd(descriptor, at + 1) !== descriptor.length) malformed(descriptor)
  return { parameters, returnType }
}

/** Returns the internal names of the classes in a descriptor, including element classes of arrays. */
export function classNames(descriptor: string): string[] {
  return [...descriptor.matchAll(/L([^;]+);/g)].map(([, name]) => name)
}

/** Returns the number of argument slots, without the receiver. `J` and `D` have two slots. */
export function argumentSlots(descriptor: string): number {
  if (descriptor.charCodeAt(0) !== OPEN) malformed(descriptor)
  let slots = 0
  let at = 1
  while (descriptor.charCodeAt(at) !== CLOSE) {
    slots += typeSlots(descriptor, at)
    at = typeEnd(descriptor, at)
  }
  return slots
}

/** Returns the number of slots of the result: 0 for `V`. */
export function returnSlots(descriptor: string): number {
  return typeSlots(descriptor, descriptor.lastIndexOf(')') + 1)
}

/** Returns the number of slots of the type that starts at `at`: 0 for `V`, 2 for `J` and `D`, otherwise 1. */
export function typeSlots(descriptor: string, at = 0): number {
  const letter = descriptor[at]
  return letter === 'V' ? 0 : letter === 'J' || letter === 'D' ? 2 : 1
}

function typeEnd(descriptor: string, start: number): number {
  let at = start
  while (descriptor.charCodeAt(at) === ARRAY) at++
  if (at - start > 255) malformed(descriptor)
  if (descriptor.charCodeAt(at) === CLASS) {
    const end = descriptor.indexOf(';', at)
    if (end <= at + 1) malformed(descriptor)
    return end + 1
  }
  if (at >= descriptor.length || !'BCDFIJSZ'.includes(descriptor[at])) malformed(descriptor)
  return at + 1
}

function malformed(descriptor: string): never {
  throw new ClassFormatProblem(`malformed descriptor ${JSON.stringify(descriptor.slice(0, 100))}`)
}
