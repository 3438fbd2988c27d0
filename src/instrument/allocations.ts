// Allocation sites of a method, and what is put behind each (--mode alloc).
//
//     new C            ldc C; allocated                      the instance has no constructor yet and is not touched
//     newarray t       dup; arraylength; push t; allocatedPrimitives
//     anewarray C      dup; allocatedArray
//     multianewarray   dup; push dimensions; allocatedArrays
//     C.<init>         dup; constructed                      for --liveness: where `new` was in the same method (constructed.ts)
//     a call           dup; allocatedObject                  of code that has no probes and makes what it returns
//     o.clone()        cloning (before), dup; allocatedClone  unless an override of it has probes and tells by itself
//
// Behind, so that what has thrown has allocated nothing, and initialisers that `new` runs come first.
//
// Calls: those that the JVM implements itself, or replaces by code of its own (intrinsics): clone() of arrays and of
// Object, Array.newInstance, Arrays.copyOf of objects, boxing, Unsafe; those of reflection; lambdas that capture. What these
// do inside is left alone then, or it would count twice. Where the JDK has no probes, also Arrays.copyOf of all kinds, and
// the strings that invokedynamic concatenates, for `+` (JEP 280) and toString() of records. Where it has, those are told by
// the JDK's code that makes them, but for the string itself where newer JDKs make it in a hidden class.

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

/** Bytes of the longest code behind a site. */
export const LONGEST_ALLOCATION = 7
/** Stack slots that it takes, above what the site leaves there. */
export const ALLOCATION_SLOTS = 2

/** A class constant can be loaded from here on (Java 5). Instances that older code makes are not seen, arrays are. */
const MAJOR_CLASS_CONSTANTS = 49

const NONE: ReadonlySet<number> = new Set()

const OBJECT_CLONE = '()Ljava/lang/Object;'

type Tell = keyof AllocationRefs

/** By owner, name and descriptor: what makes what it returns, and has no probes of its own, or none for that. */
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
  // An intrinsic that allocates what is returned, and whose bytecode has the other make it.
  ['java/lang/StringUTF16.toBytes([CII)[B', 'allocatedObject'],
  ['java/lang/StringUTF16.newBytesFor(I)[B', 'allocatedObject'],
])

/** Up to JDK 21 reflection makes these classes, which make what Constructor.newInstance returns: that is told where it is called. */
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
 * Intrinsics that allocate by themselves and that the compilers only replace where they find that the object is not
 * needed. They have no probes otherwise. Boxes are told of where valueOf is called.
 */
export const ALLOCATING_INTRINSICS: ReadonlySet<string> = new Set([
  'java/lang/Integer.toString(I)Ljava/lang/String;',
  'java/lang/StringBuilder.toString()Ljava/lang/String;',
  'java/lang/StringBuffer.toString()Ljava/lang/String;',
  // Their bytecode keeps an array, which the code that replaces it does not need.
  ...['SHA', 'SHA2', 'SHA5'].map((it) => `sun/security/provider/${it}.implCompress0([BI)V`),
])

/**
 * @param jdk      whether the JDK's own methods have probes
 * @param liveness whether what is allocated is looked after, so that probes need the object
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

/** What goes before the sites: a call of clone() may run an override that tells by itself. */
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
      // Without captures it is one object, made when the site is linked.
      return descriptor.startsWith('()') ? undefined : 'allocatedObject'
    case 'java/lang/invoke/StringConcatFactory':
      return toldOfConcatenation(descriptor, recipeOf(classFile, bootstrap, descriptor), jdk)
    case 'java/lang/runtime/ObjectMethods':
      return name === 'toString' ? toldOfRecord(bootstrap.arguments.length - 2, jdk) : undefined
    default:
      return undefined
  }
}

/** Its toString() is a concatenation of what the components are; without any it is a constant. */
function toldOfRecord(components: number, jdk: boolean): Tell | undefined {
  if (components === 0 || (jdk && components === 1)) return undefined
  return jdk ? 'allocatedConcatenation' : 'allocatedString'
}

const ARGUMENT = '\u0001'

/** What is joined, in which 1 stands for an argument and 2 for a constant; the rest is text. */
function recipeOf({ pool }: ClassFile, { arguments: [recipe] }: BootstrapMethod, descriptor: string): string {
  // makeConcat has none: all are arguments.
  if (recipe === undefined) return ARGUMENT.repeat(parseMethodDescriptor(descriptor).parameters.length)
  return pool.tag(recipe) === CONSTANT_STRING ? pool.utf8(u2At(pool.bytes, pool.offsets[recipe]! + 1)) : ''
}

/**
 * Of one object with nothing beside it a new string shares its characters. Of one argument or two objects the string is made
 * by methods of the JDK's, of more things possibly by a hidden class.
 */
function toldOfConcatenation(descriptor: string, recipe: string, jdk: boolean): Tell | undefined {
  const { parameters } = parseMethodDescriptor(descriptor)
  const objects = parameters.every((it) => it.length > 1)
  if (!jdk) return objects && recipe === ARGUMENT ? 'allocatedObject' : 'allocatedString'
  const bySomeMethod = parameters.length === 1 || (objects && recipe === ARGUMENT + ARGUMENT)
  return bySomeMethod ? undefined : 'allocatedConcatenation'
}
