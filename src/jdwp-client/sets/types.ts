// Types in replies: kind and id.

import type { TypeTag } from '../constants.ts'
import type { DataReader } from '../data.ts'
import type { ArrayTypeId, ClassId, InterfaceId } from '../ids.ts'
import { readTypeTag } from '../values.ts'

interface TypeIds {
  readonly CLASS: ClassId
  readonly INTERFACE: InterfaceId
  readonly ARRAY: ArrayTypeId
}

/** A type. Its kind determines which commands accept the id. */
export type Type = { [K in TypeTag]: { readonly kind: K; readonly id: TypeIds[K] } }[TypeTag]

export function readType(r: DataReader): Type {
  return { kind: readTypeTag(r), id: r.id('referenceType') } as unknown as Type
}
