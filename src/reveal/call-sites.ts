// What one method's bytecode can cause to run: calls, class initialisations, lambdas.
//
// Only names are read here. Which methods a site can reach is decided by `reach.ts` over the loaded
// hierarchy; what invokedynamic leads to is decided here, by its bootstrap method:
//
//   LambdaMetafactory    the method handles among the arguments: lambda bodies, method references
//   StringConcatFactory  toString() on every argument that is an object; with --jdk, what the JDK's own code
//                        for a concatenation calls, which is spun at run time and read nowhere
//   ObjectMethods        a record's equals, hashCode, toString: those of its components
//   SwitchBootstraps     what makes its labels, where these are constants of enums
//   any other            the bootstrap method itself, the method handles among the arguments, and a call
//                        through the handle that the site is bound to

import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../classfile/code.ts'
import { CONSTANT_DYNAMIC, CONSTANT_METHOD_HANDLE, type MethodHandle } from '../classfile/constant-pool.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'

/** One thing a method can cause to run. Names are internal; an owner may be an array descriptor. */
export type Site =
  /**
   * `exact` is statically bound, and resolved upwards from `owner`: invokestatic, invokespecial. `virtual` is dispatched on the
   * receiver: invokevirtual, invokeinterface.
   */
  | {
      readonly kind: 'exact' | 'virtual'
      readonly owner: string
      readonly name: string
      readonly descriptor: string
    }
  /** Runs `<clinit>` of `owner` and its supertypes, unless it ran before. */
  | { readonly kind: 'init'; readonly owner: string }
  /** A record's equals, hashCode or toString, spun by the JDK: calls those of its components. */
  | { readonly kind: 'record'; readonly owner: string; readonly name: string }
  /**
   * Any method that `owner` declares, initialisers apart: spun code calls them. With its `family` also
   * those of its super- and subtypes, JDK apart: native code calls what it is given.
   */
  | { readonly kind: 'any'; readonly owner: string; readonly family?: boolean }

/** An invokedynamic that makes an instance of a functional interface. */
export interface LambdaSite {
  /** Internal name of the interface: return type of the call site. */
  readonly interfaceName: string
  readonly handles: readonly Site[]
}

export interface MethodBody {
  /** Each distinct site once, in order of appearance. Handles of lambdas included. */
  readonly sites: readonly Site[]
  readonly lambdas: readonly LambdaSite[]
}

export const NO_BODY: MethodBody = { sites: [], lambdas: [] }

/** Identity of a site within one class loader. */
export function siteKey(site: Site): string {
  switch (site.kind) {
    case 'exact':
    case 'virtual':
      return `${site.kind === 'exact' ? '=' : '>'}${site.owner}.${site.name}${site.descriptor}`
    case 'init':
      return `!${site.owner}`
    case 'record':
      return `#${site.name}`
    case 'any':
      return `${site.family ? '**' : '*'}${site.owner}`
  }
}

/**
 * @throws ClassFormatProblem if the class file is broken
 */
export function readBody(classFile: ClassFile, method: MethodInfo): MethodBody {
  if (method.code === undefined) return NO_BODY
  const { pool } = classFile
  const { bytecode } = parseCode(classFile, method)
  const sites = new Map<string, Site>()
  const lambdas: LambdaSite[] = []
  const add = (site: Site) => {
    const key = siteKey(site)
    if (!sites.has(key)) sites.set(key, site)
  }
  const addHandle = (it: MethodHandle) => {
    const site = handle(it)
    if (site !== null) add(site)
  }
  const init = (owner: string) => {
    if (owner !== classFile.name && !owner.startsWith('[')) add({ kind: 'init', owner })
  }
  const handle = (it: MethodHandle): Site | null => {
    const { owner, name, descriptor, kind } = it
    switch (kind) {
      case REF_GET_STATIC:
      case REF_PUT_STATIC:
        init(owner)
        return null
      case REF_INVOKE_STATIC:
      case REF_NEW_INVOKE_SPECIAL:
        init(owner)
        return { kind: 'exact', owner, name, descriptor }
      case REF_INVOKE_SPECIAL:
        return { kind: 'exact', owner, name, descriptor }
      case REF_INVOKE_VIRTUAL:
      case REF_INVOKE_INTERFACE:
        return { kind: 'virtual', owner, name, descriptor }
      default:
        return null // fields
    }
  }
  /** Handles among bootstrap arguments; nested dynamic constants are followed, but not in circles. */
  const argumentsOf = (bootstrapIndex: number, depth: number): Site[] => {
    const found: Site[] = []
    for (const index of classFile.bootstrapMethods[bootstrapIndex]?.arguments ?? []) {
      const tag = pool.tag(index)
      if (tag === CONSTANT_METHOD_HANDLE) {
        const site = handle(pool.methodHandle(index))
        if (site !== null) found.push(site)
      } else if (tag === CONSTANT_DYNAMIC && depth < 8) dynamic(index, depth + 1)
    }
    return found
  }
  const dynamic = (poolIndex: number, depth: number) => {
    const constant = pool.tag(poolIndex) === CONSTANT_DYNAMIC
    const { bootstrapIndex, name, descriptor } = constant
      ? pool.dynamic(poolIndex)
      : pool.invokeDynamic(poolIndex)
    const bootstrap = classFile.bootstrapMethods[bootstrapIndex]
    if (bootstrap === undefined) return
    const maker = pool.methodHandle(bootstrap.methodRef)
    switch (maker.owner) {
      case 'java/lang/invoke/LambdaMetafactory': {
        const handles = argumentsOf(bootstrapIndex, depth)
        for (const site of handles) add(site)
        const made = /\)L([^;]+);$/.exec(descriptor)?.[1]
        if (made !== undefined) {
          lambdas.push({ interfaceName: made, handles })
          init(made)
        }
        break
      }
      case 'java/lang/invoke/StringConcatFactory':
        for (const type of objectParameters(descriptor)) {
          add({ kind: 'virtual', owner: type, name: 'toString', descriptor: '()Ljava/lang/String;' })
        }
        for (const it of CONCATENATION) add(it)
        break
      case 'java/lang/runtime/ObjectMethods':
        add({ kind: 'record', owner: classFile.name, name })
        break
      case 'java/lang/runtime/SwitchBootstraps':
        for (const it of argumentsOf(bootstrapIndex, depth)) add(it) // labels: constants of enums
        break
      default: {
        addHandle(maker)
        for (const it of argumentsOf(bootstrapIndex, depth)) add(it)
        // What the call site is bound to is a handle, and only found out when it is called.
        if (!constant) add({ kind: 'virtual', ...INVOKE_EXACT })
      }
    }
  }

  forEachInstruction(bytecode, (bci, opcode) => {
    switch (opcode) {
      case op.INVOKEVIRTUAL:
      case op.INVOKEINTERFACE:
      case op.INVOKESTATIC:
      case op.INVOKESPECIAL: {
        const { owner, name, descriptor } = pool.memberRef(u2At(bytecode, bci + 1))
        if (opcode === op.INVOKESTATIC) init(owner)
        const isDispatched = opcode === op.INVOKEVIRTUAL || opcode === op.INVOKEINTERFACE
        add({ kind: isDispatched ? 'virtual' : 'exact', owner, name, descriptor })
        // Throwable's constructors call fillInStackTrace() on what is being constructed. The
        // constructors of exceptions count as leaves, so the one callback is spelled out here.
        const isSuper = opcode === op.INVOKESPECIAL && name === '<init>' && owner === classFile.superName
        if (isSuper && THROWABLE.test(owner)) {
          const fill = { name: 'fillInStackTrace', descriptor: '()Ljava/lang/Throwable;' }
          add({ kind: 'virtual', owner: classFile.name, ...fill })
        }
        break
      }
      case op.INVOKEDYNAMIC:
        dynamic(u2At(bytecode, bci + 1), 0)
        break
      case op.NEW:
        init(pool.className(u2At(bytecode, bci + 1)))
        break
      case op.GETSTATIC:
      case op.PUTSTATIC:
        init(pool.memberRef(u2At(bytecode, bci + 1)).owner)
        break
      case op.LDC:
      case op.LDC_W:
      case op.LDC2_W: {
        const index = opcode === op.LDC ? bytecode[bci + 1] : u2At(bytecode, bci + 1)
        const tag = pool.tag(index)
        if (tag === CONSTANT_METHOD_HANDLE) addHandle(pool.methodHandle(index))
        else if (tag === CONSTANT_DYNAMIC) dynamic(index, 0)
        break
      }
    }
  })
  return { sites: [...sites.values()], lambdas }
}

/** Internal names of the parameters that are objects; arrays have Object's own toString(). */
function objectParameters(descriptor: string): string[] {
  const parameters = descriptor.slice(1, descriptor.indexOf(')'))
  return [...parameters.matchAll(/(\[*)(?:[BCDFIJSZ]|L([^;]+);)/g)]
    .filter(([, dimensions, name]) => dimensions === '' && name !== undefined)
    .map(([, , name]) => name)
}

const INVOKE_EXACT = {
  owner: 'java/lang/invoke/MethodHandle',
  name: 'invokeExact',
  descriptor: '([Ljava/lang/Object;)Ljava/lang/Object;',
}
/** What code for a concatenation calls, whichever way the JDK spins it. */
const CONCATENATION: readonly Site[] = [
  { kind: 'any', owner: 'java/lang/StringConcatHelper' },
  ...[...'ZCIJFD'].map((type): Site => {
    const descriptor = `(${type})Ljava/lang/String;`
    return { kind: 'exact', owner: 'java/lang/String', name: 'valueOf', descriptor }
  }),
]
const THROWABLE = /(?:Exception|Error|Throwable)$/

// Kinds of method handles, JVMS table 5.4.3.5-A.
const REF_GET_STATIC = 2
const REF_PUT_STATIC = 4
const REF_INVOKE_VIRTUAL = 5
const REF_INVOKE_STATIC = 6
const REF_INVOKE_SPECIAL = 7
const REF_NEW_INVOKE_SPECIAL = 8
const REF_INVOKE_INTERFACE = 9
