// Command set 2, ReferenceType: what is the same for classes, interfaces and array types.

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
  /** JNI signature of its type. */
  readonly descriptor: string
  /** Access flags of the class file; 0xf0000000: synthetic. */
  readonly modifiers: number
}

export interface Method extends Omit<Field, 'id'> {
  /** Valid until the class is redefined: ask anew afterwards. */
  readonly id: MethodId
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

export class ReferenceType extends CommandSet {
  /** JNI signature: `Lfix/Ticker;`. */
  readonly signature = this.command('ReferenceType.Signature', ofType<TypeId>, string)

  readonly signatureWithGeneric = this.command(
    'ReferenceType.SignatureWithGeneric',
    ofType<TypeId>,
    (r): { readonly signature: string } & Generic => ({ signature: r.string(), ...readGeneric(r) }),
  )

  /** null: the boot loader. */
  readonly classLoader = this.command(
    'ReferenceType.ClassLoader',
    ofType<TypeId>,
    objectOrNull<ClassLoaderId>,
  )

  /** Access flags of the class file; of arrays and primitive types anything. */
  readonly modifiers = this.command('ReferenceType.Modifiers', ofType<TypeId>, int)

  /** Declared ones, in the order of the class file. */
  readonly fields = this.command('ReferenceType.Fields', ofType<TypeId>, listOf(readField))

  readonly fieldsWithGeneric = this.command(
    'ReferenceType.FieldsWithGeneric',
    ofType<TypeId>,
    listOf((r): Field & Generic => ({ ...readNamed(r, 'field'), ...readGeneric(r), modifiers: r.int() })),
  )

  /** Declared ones, constructors and initialisers among them. */
  readonly methods = this.command('ReferenceType.Methods', ofType<TypeId>, listOf(readMethod))

  readonly methodsWithGeneric = this.command(
    'ReferenceType.MethodsWithGeneric',
    ofType<TypeId>,
    listOf((r): Method & Generic => ({ ...readNamed(r, 'method'), ...readGeneric(r), modifiers: r.int() })),
  )

  /** Static fields, of the type or of one that it inherits from; private ones too. */
  readonly getValues = this.command(
    'ReferenceType.GetValues',
    (w, type: TypeId, fields: readonly FieldId[]) => writeFields(ofType(w, type), fields),
    listOf(readValue),
  )

  /** Without its directory. ABSENT_INFORMATION: the class file does not say. */
  readonly sourceFile = this.command('ReferenceType.SourceFile', ofType<TypeId>, string)

  /** Of other source languages, JSR 45. ABSENT_INFORMATION: there is none. */
  readonly sourceDebugExtension = this.command('ReferenceType.SourceDebugExtension', ofType<TypeId>, string)

  /** Loaded ones that are nested directly. */
  readonly nestedTypes = this.command('ReferenceType.NestedTypes', ofType<TypeId>, listOf(readType))

  /** STATUS_ bits; of arrays anything. */
  readonly status = this.command('ReferenceType.Status', ofType<TypeId>, int)

  /** Those that it names itself. */
  readonly interfaces = this.command(
    'ReferenceType.Interfaces',
    ofType<TypeId>,
    listOf((r) => r.id('referenceType') as TypeId as InterfaceId),
  )

  /** Its `java.lang.Class`. */
  readonly classObject = this.command('ReferenceType.ClassObject', ofType<TypeId>, object<ClassObjectId>)

  /** Reachable instances: walks through the heap. @param most  0: all of them */
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

  /** Of the class as it is now. */
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
