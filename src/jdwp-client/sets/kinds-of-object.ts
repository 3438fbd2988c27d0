// Command sets 10, 13, 14, 17 and 18: StringReference, ArrayReference, ClassLoaderReference, ClassObjectReference and
// ModuleReference. Each set has commands for a single kind of object.

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

  /** Reads a region of an array. If the region is not completely inside the array, the JVM answers INVALID_LENGTH. */
  readonly getValues = this.command(
    'ArrayReference.GetValues',
    (w, array: ArrayId, first: number, length: number) => w.object(array).int(first).int(length),
    readRegion,
  )

  /** Writes a region of an array. The region must have the element type of the array: the JVM does not check this. */
  readonly setValues = this.command(
    'ArrayReference.SetValues',
    (w, array: ArrayId, first: number, region: ArrayRegion) =>
      writeRegion(w.object(array).int(first), region),
    nothing,
  )
}

export class ClassLoaderReference extends CommandSet {
  /** Returns the types for which the loader is an initiating loader. The argument null means the boot loader. */
  readonly visibleClasses = this.command(
    'ClassLoaderReference.VisibleClasses',
    ofObject<ClassLoaderId | null>,
    listOf(readType),
  )
}

export class ClassObjectReference extends CommandSet {
  /** Returns the type of a `java.lang.Class` object. */
  readonly reflectedType = this.command(
    'ClassObjectReference.ReflectedType',
    ofObject<ClassObjectId>,
    readType,
  )
}

export class ModuleReference extends CommandSet {
  /** Returns the name of the module; empty for an unnamed module. */
  readonly name = this.command('ModuleReference.Name', ofObject<ModuleId>, string)

  /** Returns the class loader of the module; null for the boot loader. */
  readonly classLoader = this.command(
    'ModuleReference.ClassLoader',
    ofObject<ModuleId>,
    objectOrNull<ClassLoaderId>,
  )
}
