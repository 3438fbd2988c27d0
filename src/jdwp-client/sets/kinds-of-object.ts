// Command sets 10, 13, 14, 17 and 18: StringReference, ArrayReference, ClassLoaderReference, ClassObjectReference and
// ModuleReference: what only one kind of object can be asked.

import { type ArrayRegion, readRegion, writeRegion } from '../array-region.ts'
import { nothing } from '../asker.ts'
import type { ArrayId, ClassLoaderId, ClassObjectId, ModuleId, StringId } from '../ids.ts'
import { CommandSet, int, listOf, objectOrNull, ofObject, string } from './command-set.ts'
import { readType } from './types.ts'

export class StringReference extends CommandSet {
  readonly value = this.command('StringReference.Value', ofObject<StringId>, string)
}

export class ArrayReference extends CommandSet {
  readonly length = this.command('ArrayReference.Length', ofObject<ArrayId>, int)

  /** All of them must be there: INVALID_LENGTH otherwise. */
  readonly getValues = this.command(
    'ArrayReference.GetValues',
    (w, array: ArrayId, first: number, length: number) => w.object(array).int(first).int(length),
    readRegion,
  )

  /** The region is to be of the array's own type: the JVM takes the bytes for that. */
  readonly setValues = this.command(
    'ArrayReference.SetValues',
    (w, array: ArrayId, first: number, region: ArrayRegion) =>
      writeRegion(w.object(array).int(first), region),
    nothing,
  )
}

export class ClassLoaderReference extends CommandSet {
  /** Those that it has loaded, or has been asked for and had loaded by another. null: the boot loader. */
  readonly visibleClasses = this.command(
    'ClassLoaderReference.VisibleClasses',
    ofObject<ClassLoaderId | null>,
    listOf(readType),
  )
}

export class ClassObjectReference extends CommandSet {
  /** Whose `java.lang.Class` it is. */
  readonly reflectedType = this.command(
    'ClassObjectReference.ReflectedType',
    ofObject<ClassObjectId>,
    readType,
  )
}

export class ModuleReference extends CommandSet {
  /** Empty of an unnamed module. */
  readonly name = this.command('ModuleReference.Name', ofObject<ModuleId>, string)

  /** null: the boot loader. */
  readonly classLoader = this.command(
    'ModuleReference.ClassLoader',
    ofObject<ModuleId>,
    objectOrNull<ClassLoaderId>,
  )
}
