// Command set 2, ReferenceType: what is the same for classes, interfaces and array types.

import type { Asker, AskOptions } from '../asker.ts'
import type { DataReader } from '../data.ts'
import type { Result } from '../errors.ts'
import type {
  ClassLoaderId,
  ClassObjectId,
  FieldId,
  InterfaceId,
  MethodId,
  ModuleId,
  TypeId,
} from '../ids.ts'
import { type ObjectValue, readObject, readValue, type Value } from '../values.ts'
import { readType, type Type } from './types.ts'

export interface Field {
  readonly id: FieldId
  readonly name: string
  /** JNI signature of its type. */
  readonly descriptor: string
  /** Access flags of the class file; 0xf0000000: synthetic. */
  readonly modifiers: number
}

export interface Method {
  /** Valid until the class is redefined: ask anew afterwards. */
  readonly id: MethodId
  readonly name: string
  readonly descriptor: string
  /** Access flags of the class file; 0xf0000000: synthetic. */
  readonly modifiers: number
}

export interface Generic {
  /** As the class file's Signature attribute; empty where there is none. */
  readonly genericSignature: string
}

/** A live constant pool, in the form of a class file. */
export interface RawConstantPool {
  /** `constant_pool_count`: one more than the highest index. */
  readonly count: number
  readonly bytes: Buffer
}

export class ReferenceType {
  constructor(private readonly asker: Asker) {}

  /** JNI signature: `Lfix/Ticker;`. */
  signature(type: TypeId): Promise<Result<string>> {
    return this.asker.ask('ReferenceType.Signature', of(type), (r) => r.string())
  }

  signatureWithGeneric(type: TypeId): Promise<Result<{ readonly signature: string } & Generic>> {
    return this.asker.ask('ReferenceType.SignatureWithGeneric', of(type), (r) => ({
      signature: r.string(),
      genericSignature: r.string(),
    }))
  }

  /** null: the boot loader. */
  classLoader(type: TypeId): Promise<Result<ClassLoaderId | null>> {
    return this.asker.ask('ReferenceType.ClassLoader', of(type), (r) => r.objectOrNull<ClassLoaderId>())
  }

  /** Access flags of the class file; of arrays and primitive types anything. */
  modifiers(type: TypeId): Promise<Result<number>> {
    return this.asker.ask('ReferenceType.Modifiers', of(type), (r) => r.int())
  }

  /** Declared ones, in the order of the class file. */
  fields(type: TypeId): Promise<Result<Field[]>> {
    return this.asker.ask('ReferenceType.Fields', of(type), (r) =>
      r.list(() => ({ ...readNamed(r, 'field'), modifiers: r.int() })),
    )
  }

  fieldsWithGeneric(type: TypeId): Promise<Result<(Field & Generic)[]>> {
    return this.asker.ask('ReferenceType.FieldsWithGeneric', of(type), (r) =>
      r.list(() => ({ ...readNamed(r, 'field'), genericSignature: r.string(), modifiers: r.int() })),
    )
  }

  /** Declared ones, constructors and initialisers among them. */
  methods(type: TypeId): Promise<Result<Method[]>> {
    return this.asker.ask('ReferenceType.Methods', of(type), (r) =>
      r.list(() => ({ ...readNamed(r, 'method'), modifiers: r.int() })),
    )
  }

  methodsWithGeneric(type: TypeId): Promise<Result<(Method & Generic)[]>> {
    return this.asker.ask('ReferenceType.MethodsWithGeneric', of(type), (r) =>
      r.list(() => ({ ...readNamed(r, 'method'), genericSignature: r.string(), modifiers: r.int() })),
    )
  }

  /** Static fields, of the type or of one that it inherits from; private ones too. */
  getValues(type: TypeId, fields: readonly FieldId[]): Promise<Result<Value[]>> {
    return this.asker.ask(
      'ReferenceType.GetValues',
      (w) => w.id('referenceType', type).list(fields, (field) => w.id('field', field)),
      (r) => r.list(() => readValue(r)),
    )
  }

  /** Without its directory. ABSENT_INFORMATION: the class file does not say. */
  sourceFile(type: TypeId): Promise<Result<string>> {
    return this.asker.ask('ReferenceType.SourceFile', of(type), (r) => r.string())
  }

  /** Of other source languages, JSR 45. ABSENT_INFORMATION: there is none. */
  sourceDebugExtension(type: TypeId): Promise<Result<string>> {
    return this.asker.ask('ReferenceType.SourceDebugExtension', of(type), (r) => r.string())
  }

  /** Loaded ones that are nested directly. */
  nestedTypes(type: TypeId): Promise<Result<Type[]>> {
    return this.asker.ask('ReferenceType.NestedTypes', of(type), (r) => r.list(() => readType(r)))
  }

  /** STATUS_ bits; of arrays anything. */
  status(type: TypeId): Promise<Result<number>> {
    return this.asker.ask('ReferenceType.Status', of(type), (r) => r.int())
  }

  /** Those that it names itself. */
  interfaces(type: TypeId): Promise<Result<InterfaceId[]>> {
    return this.asker.ask('ReferenceType.Interfaces', of(type), (r) =>
      r.list(() => r.id('referenceType') as TypeId as InterfaceId),
    )
  }

  /** Its `java.lang.Class`. */
  classObject(type: TypeId): Promise<Result<ClassObjectId>> {
    return this.asker.ask('ReferenceType.ClassObject', of(type), (r) => r.object<ClassObjectId>())
  }

  /** Reachable instances: walks through the heap. @param most  0: all of them */
  instances(type: TypeId, most: number, options?: AskOptions): Promise<Result<ObjectValue[]>> {
    return this.asker.ask(
      'ReferenceType.Instances',
      (w) => w.id('referenceType', type).int(most),
      (r) => r.list(() => readObject(r)),
      options,
    )
  }

  classFileVersion(type: TypeId): Promise<Result<{ readonly major: number; readonly minor: number }>> {
    return this.asker.ask('ReferenceType.ClassFileVersion', of(type), (r) => ({
      major: r.int(),
      minor: r.int(),
    }))
  }

  /** Of the class as it is now. */
  constantPool(type: TypeId): Promise<Result<RawConstantPool>> {
    return this.asker.ask('ReferenceType.ConstantPool', of(type), (r) => ({
      count: r.int(),
      bytes: r.block(),
    }))
  }

  module(type: TypeId): Promise<Result<ModuleId>> {
    return this.asker.ask('ReferenceType.Module', of(type), (r) => r.object<ModuleId>())
  }
}

const of =
  (type: TypeId) =>
  (w: { id(kind: 'referenceType', id: TypeId): unknown }): unknown =>
    w.id('referenceType', type)

function readNamed<Kind extends 'field' | 'method'>(r: DataReader, kind: Kind) {
  return { id: r.id(kind), name: r.string(), descriptor: r.string() }
}
