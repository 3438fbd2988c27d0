// Checks whether root calls have the values that --show and --by name, before anything is redefined.

import { UsageError } from '../base/errors.ts'
import { PRIMITIVES } from '../base/primitives.ts'
import type { ValuePath, ValueStep } from '../base/value-path.ts'
import { ACC_STATIC } from '../classfile/access.ts'
import { parseMethodDescriptor } from '../classfile/descriptor.ts'
import { readableParameters } from './patterns.ts'

/** Method of a root, for `startProblem`. */
export interface RootOfValues {
  /** Dotted name of the class. */
  readonly className: string
  readonly name: string
  readonly descriptor: string
  readonly access: number
}

/** Thrown if no method of the roots has the value from which a path starts. Nothing has been redefined then. */
export class NoSuchValue extends UsageError {
  static sample = () => new NoSuchValue('--show arg7.id', 'OrderService.place(int) has 1 argument')
  readonly hint =
    'Use arg0 for the first argument, this, return or thrown, each followed by fields: arg0.customer.id'
  constructor(option: string, reason: string) {
    super(`${option}: ${reason}`)
  }
}

/**
 * Returns the reason why the calls of a root have no value from which the path starts, or why the first step is impossible; null if there
 * is no reason.
 */
export function startProblem({ start, steps }: ValuePath, root: RootOfValues): string | null {
  const { parameters, returnType } = parseMethodDescriptor(root.descriptor)
  const name = root.name === '<init>' ? 'new' : root.name
  const method = `${root.className}.${name}(${readableParameters(root.descriptor).join(', ')})`
  switch (start) {
    case 'this':
      if (root.name === '<init>') return `the object of ${method} is incomplete when the call begins`
      return (root.access & ACC_STATIC) === 0 ? null : `${method} is static`
    case 'thrown':
      return null
    case 'return':
      if (returnType === 'V') return `${method} returns no value`
      return fieldProblem(returnType, steps, `the value of ${method}`)
    default: {
      const type = parameters[start]
      if (type === undefined)
        return `${method} has ${parameters.length} argument${parameters.length === 1 ? '' : 's'}`
      return fieldProblem(type, steps, `argument ${start} of ${method}`)
    }
  }
}

function fieldProblem(type: string, steps: readonly ValueStep[], what: string): string | null {
  if (steps.length === 0) return null
  if (type.startsWith('[')) return `${what} is an array, which has no fields`
  const primitive = PRIMITIVES[type]
  return primitive === undefined ? null : `${what} is ${primitive}, which has no fields`
}
