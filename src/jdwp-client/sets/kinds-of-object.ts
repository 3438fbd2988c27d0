// Command sets 10, 13, 14, 17 and 18: StringReference, ArrayReference, ClassLoaderReference, ClassObjectReference and
// ModuleReference: what only one kind of object can be asked.

import { type ArrayRegion, readRegion, writeRegion } from '../array-region.ts'
import { type Asker, nothing } from '../asker.ts'
import type { Result } from '../errors.ts'
import type { ArrayId, ClassLoaderId, ClassObjectId, ModuleId, StringId } from '../ids.ts'
import { readType, type Type } from './types.ts'

export class StringReference {
  constructor(private readonly asker: Asker) {}

  value(string: StringId): Promise<Result<string>> {
    return this.asker.ask(
      'StringReference.Value',
      (w) => w.object(string),
      (r) => r.string(),
    )
  }
}

export class ArrayReference {
  constructor(private readonly asker: Asker) {}

  length(array: ArrayId): Promise<Result<number>> {
    return this.asker.ask(
      'ArrayReference.Length',
      (w) => w.object(array),
      (r) => r.int(),
    )
  }

  /** All of them must be there: INVALID_LENGTH otherwise. */
  getValues(array: ArrayId, first: number, length: number): Promise<Result<ArrayRegion>> {
    return this.asker.ask(
      'ArrayReference.GetValues',
      (w) => w.object(array).int(first).int(length),
      readRegion,
    )
  }

  /** @param region  of the array's own type: the JVM takes the bytes for that */
  setValues(array: ArrayId, first: number, region: ArrayRegion): Promise<Result<void>> {
    return this.asker.ask(
      'ArrayReference.SetValues',
      (w) => writeRegion(w.object(array).int(first), region),
      nothing,
    )
  }
}

export class ClassLoaderReference {
  constructor(private readonly asker: Asker) {}

  /** Those that it has loaded, or has been asked for and had loaded by another. null: the boot loader. */
  visibleClasses(loader: ClassLoaderId | null): Promise<Result<Type[]>> {
    return this.asker.ask(
      'ClassLoaderReference.VisibleClasses',
      (w) => w.object(loader),
      (r) => r.list(() => readType(r)),
    )
  }
}

export class ClassObjectReference {
  constructor(private readonly asker: Asker) {}

  /** Whose `java.lang.Class` it is. */
  reflectedType(classObject: ClassObjectId): Promise<Result<Type>> {
    return this.asker.ask('ClassObjectReference.ReflectedType', (w) => w.object(classObject), readType)
  }
}

export class ModuleReference {
  constructor(private readonly asker: Asker) {}

  /** Empty of an unnamed module. */
  name(module: ModuleId): Promise<Result<string>> {
    return this.asker.ask(
      'ModuleReference.Name',
      (w) => w.object(module),
      (r) => r.string(),
    )
  }

  /** null: the boot loader. */
  classLoader(module: ModuleId): Promise<Result<ClassLoaderId | null>> {
    return this.asker.ask(
      'ModuleReference.ClassLoader',
      (w) => w.object(module),
      (r) => r.objectOrNull<ClassLoaderId>(),
    )
  }
}
