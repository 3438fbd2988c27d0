// Allocation sites of a method, and the probes after them (--mode alloc).
//
//     new C            ldc C; allocated                      the instance has no constructor yet and is not touched
//     newarray t       dup; arraylength; push t; allocatedPrimitives
//     anewarray C      dup; allocatedArray
//     multianewarray   dup; push dimensions; allocatedArrays
//     C.<init>         dup; constructed                      with --liveness, if `new` is in the same method (constructed.ts)
//     a call           dup; allocatedObject                  if the callee has no probes and allocates its result
//     o.clone()        cloning (before), dup; allocatedClone  unless an override has probes and records the object
//
// A probe follows its instruction. So an instruction that throws records nothing, and allocations of a class initialiser that `new` runs
// are recorded before the instance.
//
// These calls have a probe: calls of methods that the JVM implements itself or replaces by its own code (intrinsics): clone() of arrays
// and of Object, Array.newInstance, Arrays.copyOf of objects, boxing, Unsafe; calls of reflection; creation of lambdas with captures.
// The called code has no probes, since otherwise the object would count twice. If the JDK has no probes, calls of all Arrays.copyOf
// methods and string concatenations by invokedynamic (for `+`, JEP 280, and for toString() of records) also have a probe. If the JDK has
// probes, its own code records these allocations, except strings that newer JDKs create in a hidden class.

import type { BootstrapMethod, ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { type Code, instructionLength } from '../classfile/code.ts'
import { CONSTANT_STRING } from '../classfile/constant-pool.ts'
import { parseMethodDescriptor } from '../classfile/descriptor.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { constructorCalls } from './constructed.ts'
import { call, pushId } from './probe.ts'
import type { Inserted } from './relocation.ts'
import type { AllocationRefs } from './runtime.ts'

/** Maximum length of the probe code after an instruction, bytes. */
export const MAX_ALLOCATION_BYTES = 7
/** Maximum number of stack slots that the probe code needs above the instruction's result. */
export const ALLOCATION_SLOTS = 2

/** First class file version with class constants (Java 5). In code of older versions, only arrays are recorded, not instances. */
const MAJOR_CLASS_CONSTANTS = 49

const NONE: ReadonlySet<number> = new Set()

const OBJECT_CLONE = '()Ljava/lang/Object;'

type Tell = keyof AllocationRefs

/** Methods that allocate their result without a probe in their own code, keyed by owner, name and descriptor. */
const MAKERS: ReadonlyMap<string, Tell> = new Map<string, Tell>([
  ['java/lang/reflect/Array.newInstance(Ljava/lang/Class;I)Ljava/lang/Object;', 'allocatedObject'],
  ['java/lang/reflect/Array.newInstance(Ljava/lang/Class;[I)Ljava/lang/Object;', 'allocatedArraysOf'],
  ['java/lang/reflect/Constructor.newInstance([Ljava/lang/Object;)Ljava/lang/Object;', 'allocatedObject'],
  ['java/lang/Class.newInstance()Ljava/lang/Object;', 'allocatedObject'],
  ['java/util/Arrays.copyOf([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;', 'allocatedObject'],
  [
    'java/util/Arrays.copyOfRange([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;',
    'allocatedObject',
  ],
  ['jdk/internal/misc/Unsafe.allocateInstance(Ljava/lang/Class;)Ljava/lang/Object;', 'allocatedObject'],
  [
    'jdk/internal/misc/Unsafe.allocateUninitializedArray(Ljava/lang/Class;I)Ljava/lang/Object;',
    'allocatedObject',
  ],
  ['sun/misc/Unsafe.allocateInstance(Ljava/lang/Class;)Ljava/lang/Object;', 'allocatedObject'],
  // toBytes is an intrinsic that allocates its result. Its bytecode calls newBytesFor, whose calls also have a probe.
  ['java/lang/StringUTF16.toBytes([CII)[B', 'allocatedObject'],
  ['java/lang/StringUTF16.newBytesFor(I)[B', 'allocatedObject'],
])

/**
 * Matches classes that reflection generates up to JDK 21. These classes allocate the result of Constructor.newInstance, which is recorded
 * where newInstance is called.
 */
const GENERATED_CONSTRUCTOR = /^jdk\/internal\/reflect\/Generated(?:Serialization)?ConstructorAccessor\d*$/

const BOXES: ReadonlySet<string> = new Set(
  [
    ['Integer', 'I'],
    ['Long', 'J'],
    ['Short', 'S'],
    ['Character', 'C'],
    ['Float', 'F'],
    ['Double', 'D'],
  ].map(([box, of]) => `java/lang/${box}.valueOf(${of})Ljava/lang/${box};`),
)

/**
 * Intrinsics that allocate, and that the compilers replace only if the allocated object is not needed. These methods have probes
 * only in mode `alloc`. Boxed values are recorded at the call of valueOf.
 */
export const ALLOCATING_INTRINSICS: ReadonlySet<string> = new Set([
  'java/lang/Integer.toString(I)Ljava/lang/String;',
  'java/lang/StringBuilder.toString()Ljava/lang/String;',
  'java/lang/StringBuffer.toString()Ljava/lang/String;',
  // The bytecode of implCompress0 allocates an array, which the intrinsic does not need.
  ...['SHA', 'SHA2', 'SHA5'].map((it) => `sun/security/provider/${it}.implCompress0([BI)V`),
])

/**
 * Returns the probe code per bci; undefined if the method has no allocation site.
 *
 * @param jdk      whether JDK methods have probes
 * @param liveness whether liveness of objects is tracked, so that probes need the object
 */
export function allocationProbes(
  classFile: ClassFile,
  method: MethodInfo,
  code: Code,
  refs: AllocationRefs,
  { jdk, liveness = false }: { readonly jdk: boolean; readonly liveness?: boolean },
): Inserted | undefined {
  const { bytecode } = code
  if (MAKERS.has(`${classFile.name}.${method.name}${method.descriptor}`)) return undefined
  if (GENERATED_CONSTRUCTOR.test(classFile.name)) return undefined
  const added: (readonly number[] | undefined)[] = []
  let found = false
  const constructors = liveness ? constructorCalls(classFile, code) : NONE
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    const probe = constructors.has(bci)
      ? [op.DUP, ...call(refs.constructed)]
      : probeBehind(classFile, bytecode, bci, refs, jdk, liveness)
    if (probe === undefined) continue
    added[bci] = probe
    found = true
  }
  return found ? added : undefined
}

/** Returns the code before calls of clone(). It lets the runtime notice an override that records its object itself. */
export function cloneProbes(
  { pool }: ClassFile,
  { bytecode }: Code,
  refs: AllocationRefs,
): Inserted | undefined {
  const before: (readonly number[])[] = []
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (bytecode[bci] !== op.INVOKEVIRTUAL) continue
    const { owner, name, descriptor } = pool.memberRef(u2At(bytecode, bci + 1))
    if (isVirtualClone(owner, name + descriptor)) before[bci] = call(refs.cloning)
  }
  return before.length > 0 ? before : undefined
}

function isVirtualClone(owner: string, selector: string): boolean {
  return owner === 'java/lang/Object' && selector === `clone${OBJECT_CLONE}`
}

function probeBehind(
  classFile: ClassFile,
  bytecode: Uint8Array,
  bci: number,
  refs: AllocationRefs,
  jdk: boolean,
  liveness: boolean,
): number[] | undefined {
  switch (bytecode[bci]) {
    case op.NEW:
      if (classFile.major < MAJOR_CLASS_CONSTANTS) return undefined
      return [op.LDC_W, bytecode[bci + 1], bytecode[bci + 2], ...call(refs.allocated)]
    case op.NEWARRAY:
      if (liveness) return [op.DUP, ...call(refs.allocatedPrimitiveArray)]
      return [op.DUP, op.ARRAYLENGTH, op.BIPUSH, bytecode[bci + 1], ...call(refs.allocatedPrimitives)]
    case op.ANEWARRAY:
      return [op.DUP, ...call(refs.allocatedArray)]
    case op.MULTIANEWARRAY:
      return [op.DUP, ...pushId(bytecode[bci + 3]), ...call(refs.allocatedArrays)]
    case op.INVOKEVIRTUAL:
    case op.INVOKESPECIAL:
    case op.INVOKESTATIC: {
      const { owner, name, descriptor } = classFile.pool.memberRef(u2At(bytecode, bci + 1))
      if (bytecode[bci] === op.INVOKEVIRTUAL && isVirtualClone(owner, name + descriptor))
        return [op.DUP, ...call(refs.allocatedClone)]
      const tell = toldOf(owner, name + descriptor, jdk)
      return tell === undefined ? undefined : [op.DUP, ...call(refs[tell])]
    }
    case op.INVOKEDYNAMIC: {
      const tell = toldOfDynamic(classFile, u2At(bytecode, bci + 1), jdk)
      return tell === undefined ? undefined : [op.DUP, ...call(refs[tell])]
    }
    default:
      return undefined
  }
}

function toldOf(owner: string, selector: string, jdk: boolean): Tell | undefined {
  if (selector === `clone${OBJECT_CLONE}`) {
    return owner === 'java/lang/Object' || owner[0] === '[' ? 'allocatedObject' : undefined
  }
  if (!/^(?:java|jdk|sun)\//.test(owner)) return undefined
  const callee = `${owner}.${selector}`
  const maker = MAKERS.get(callee)
  if (maker !== undefined) return maker
  if (BOXES.has(callee)) return 'allocatedBox'
  if (jdk) return undefined
  return /^java\/util\/Arrays\.copyOf(?:Range)?\(/.test(callee) ? 'allocatedObject' : undefined
}

function toldOfDynamic(classFile: ClassFile, index: number, jdk: boolean): Tell | undefined {
  const { bootstrapIndex, name, descriptor } = classFile.pool.invokeDynamic(index)
  const bootstrap = classFile.bootstrapMethods[bootstrapIndex]
  if (bootstrap === undefined) return undefined
  switch (classFile.pool.methodHandle(bootstrap.methodRef).owner) {
    case 'java/lang/invoke/LambdaMetafactory':
      // A lambda without captures is a single object, created when the call site is linked.
      return descriptor.startsWith('()') ? undefined : 'allocatedObject'
    case 'java/lang/invoke/StringConcatFactory':
      return toldOfConcatenation(descriptor, recipeOf(classFile, bootstrap, descriptor), jdk)
    case 'java/lang/runtime/ObjectMethods':
      return name === 'toString' ? toldOfRecord(bootstrap.arguments.length - 2, jdk) : undefined
    default:
      return undefined
  }
}

/** Returns the probe for toString() of a record, which concatenates the components; undefined for a record without components. */
function toldOfRecord(components: number, jdk: boolean): Tell | undefined {
  if (components === 0 || (jdk && components === 1)) return undefined
  return jdk ? 'allocatedConcatenation' : 'allocatedString'
}

const ARGUMENT = '\u0001'

/** Returns the recipe of a concatenation: character 1 stands for an argument, 2 for a constant, any other character for itself. */
function recipeOf({ pool }: ClassFile, { arguments: [recipe] }: BootstrapMethod, descriptor: string): string {
  // makeConcat has no recipe: all parts are arguments.
  if (recipe === undefined) return ARGUMENT.repeat(parseMethodDescriptor(descriptor).parameters.length)
  return pool.tag(recipe) === CONSTANT_STRING ? pool.utf8(u2At(pool.bytes, pool.offsets[recipe]! + 1)) : ''
}

/**
 * Returns the probe of a concatenation. Without probes in the JDK: if the only part is an object, the new string shares the characters of
 * the object's string. With probes in the JDK: JDK methods create and record a string of one argument or of two objects. If there are more
 * parts, a hidden class may create the string.
 */
function toldOfConcatenation(descriptor: string, recipe: string, jdk: boolean): Tell | undefined {
  const { parameters } = parseMethodDescriptor(descriptor)
  const objects = parameters.every((it) => it.length > 1)
  if (!jdk) return objects && recipe === ARGUMENT ? 'allocatedObject' : 'allocatedString'
  const bySomeMethod = parameters.length === 1 || (objects && recipe === ARGUMENT + ARGUMENT)
  return bySomeMethod ? undefined : 'allocatedConcatenation'
}
