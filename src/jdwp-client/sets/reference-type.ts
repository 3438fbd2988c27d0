// Command set 2, ReferenceType: commands common to classes, interfaces and array types.

import type { AskOptions } from '../asker.ts'
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
import { type ObjectValue, readObject, readValue, writeFields } from '../values.ts'
import { CommandSet, int, listOf, object, objectOrNull, ofType, string } from './command-set.ts'
import { readType } from './types.ts'

export interface Field {
  readonly id: FieldId
  readonly name: string
  /** JNI signature of the field's type. */
  readonly descriptor: string
  /** Access flags of the class file. If the member is synthetic, the bits 0xf0000000 are also set. */
  readonly modifiers: number
}

export interface Method extends Omit<Field, 'id'> {
  /** Id of the method, valid until the class is redefined. */
  readonly id: MethodId
}

export interface Generic {
  /** Content of the class file's Signature attribute; empty if the class file has no such attribute. */
  readonly genericSignature: string
}

/** The constant pool of a loaded class, in class file format. */
export interface RawConstantPool {
  /** `constant_pool_count`: one more than the highest index. */
  readonly count: number
  readonly bytes: Buffer
}

export class ReferenceType extends CommandSet {
  /** Returns the JNI signature: `Lfix/Ticker;`. */
  readonly signature = this.command('ReferenceType.Signature', ofType<TypeId>, string)

  readonly signatureWithGeneric = this.command(
    'ReferenceType.SignatureWithGeneric',
    ofType<TypeId>,
    (r): { readonly signature: string } & Generic => ({ signature: r.string(), ...readGeneric(r) }),
  )

  /** Returns the class loader of the type; null for the boot loader. */
  readonly classLoader = this.command(
    'ReferenceType.ClassLoader',
    ofType<TypeId>,
    objectOrNull<ClassLoaderId>,
  )

  /** Returns the access flags of the class file. For arrays and primitive types, the specification does not define the result. */
  readonly modifiers = this.command('ReferenceType.Modifiers', ofType<TypeId>, int)

  /** Returns the declared fields in class file order. */
  readonly fields = this.command('ReferenceType.Fields', ofType<TypeId>, listOf(readField))

  readonly fieldsWithGeneric = this.command(
    'ReferenceType.FieldsWithGeneric',
    ofType<TypeId>,
    listOf((r): Field & Generic => ({ ...readNamed(r, 'field'), ...readGeneric(r), modifiers: r.int() })),
  )

  /** Returns the declared methods, including constructors and initialisers. */
  readonly methods = this.command('ReferenceType.Methods', ofType<TypeId>, listOf(readMethod))

  readonly methodsWithGeneric = this.command(
    'ReferenceType.MethodsWithGeneric',
    ofType<TypeId>,
    listOf((r): Method & Generic => ({ ...readNamed(r, 'method'), ...readGeneric(r), modifiers: r.int() })),
  )

  /** Returns the values of static fields of the type or its supertypes. Private fields are allowed. */
  readonly getValues = this.command(
    'ReferenceType.GetValues',
    (w, type: TypeId, fields: readonly FieldId[]) => writeFields(ofType(w, type), fields),
    listOf(readValue),
  )

  /** Returns the name of the source file without directory, or the error ABSENT_INFORMATION if the class file does not contain it. */
  readonly sourceFile = this.command('ReferenceType.SourceFile', ofType<TypeId>, string)

  /** Returns the source debug extension (JSR 45), or the error ABSENT_INFORMATION if the class file has none. */
  readonly sourceDebugExtension = this.command('ReferenceType.SourceDebugExtension', ofType<TypeId>, string)

  /** Returns loaded types that are nested directly in this type. */
  readonly nestedTypes = this.command('ReferenceType.NestedTypes', ofType<TypeId>, listOf(readType))

  /** Returns the status of the type: bits of STATUS_…. For arrays, the specification does not define the result. */
  readonly status = this.command('ReferenceType.Status', ofType<TypeId>, int)

  /** Returns the interfaces that the type declares itself. */
  readonly interfaces = this.command(
    'ReferenceType.Interfaces',
    ofType<TypeId>,
    listOf((r) => r.id('referenceType') as TypeId as InterfaceId),
  )

  /** Returns the `java.lang.Class` object of the type. */
  readonly classObject = this.command('ReferenceType.ClassObject', ofType<TypeId>, object<ClassObjectId>)

  /** Returns the reachable instances of the type. Walks the heap. @param most  maximum number; 0 for all */
  instances(type: TypeId, most: number, options?: AskOptions): Promise<Result<ObjectValue[]>> {
    return this.asker.ask(
      'ReferenceType.Instances',
      (w) => ofType(w, type).int(most),
      listOf(readObject),
      options,
    )
  }

  readonly classFileVersion = this.command(
    'ReferenceType.ClassFileVersion',
    ofType<TypeId>,
    (r): { readonly major: number; readonly minor: number } => ({ major: r.int(), minor: r.int() }),
  )

  /** Returns the constant pool of the current version of the class. */
  readonly constantPool = this.command(
    'ReferenceType.ConstantPool',
    ofType<TypeId>,
    (r): RawConstantPool => ({ count: r.int(), bytes: r.block() }),
  )

  readonly module = this.command('ReferenceType.Module', ofType<TypeId>, object<ModuleId>)
}

function readNamed<Kind extends 'field' | 'method'>(r: DataReader, kind: Kind) {
  return { id: r.id(kind), name: r.string(), descriptor: r.string() }
}

function readField(r: DataReader): Field {
  return { ...readNamed(r, 'field'), modifiers: r.int() }
}

function readMethod(r: DataReader): Method {
  return { ...readNamed(r, 'method'), modifiers: r.int() }
}

export function readGeneric(r: DataReader): Generic {
  return { genericSignature: r.string() }
}
