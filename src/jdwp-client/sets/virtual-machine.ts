// Command set 1, VirtualMachine: the JVM as a whole.

import { type Asker, type AskOptions, nothing } from '../asker.ts'
import type { DataReader } from '../data.ts'
import type { Result } from '../errors.ts'
import type { ModuleId, ObjectId, StringId, ThreadGroupId, ThreadId, TypeId } from '../ids.ts'
import {
  type Capabilities,
  type OldCapabilities,
  readCapabilities,
  readOldCapabilities,
} from './capabilities.ts'
import { readType, type Type } from './types.ts'

export interface Version {
  /** Text that the JVM makes of the rest. */
  readonly description: string
  /** Of JDWP: the feature version of the JDK since 9. */
  readonly major: number
  readonly minor: number
  /** As the property `java.version`. */
  readonly vmVersion: string
  /** As the property `java.vm.name`. */
  readonly vmName: string
}

export type LoadedType = Type & {
  /** JNI signature: `Lfix/Ticker;`. */
  readonly signature: string
  /** STATUS_ bits. */
  readonly status: number
}

export type GenericType = LoadedType & {
  /** As the class file's Signature attribute; empty where there is none. */
  readonly genericSignature: string
}

export interface ClassPaths {
  /** Paths below are relative to it. */
  readonly baseDir: string
  readonly classpath: readonly string[]
  readonly bootclasspath: readonly string[]
}

export class VirtualMachine {
  constructor(private readonly asker: Asker) {}

  version(): Promise<Result<Version>> {
    return this.asker.ask('VirtualMachine.Version', nothing, (r) => ({
      ...{ description: r.string(), major: r.int(), minor: r.int() },
      ...{ vmVersion: r.string(), vmName: r.string() },
    }))
  }

  /** Every loaded type of this name, one for each loader that has it. Loads none. */
  classesBySignature(signature: string): Promise<Result<LoadedType[]>> {
    return this.asker.ask(
      'VirtualMachine.ClassesBySignature',
      (w) => w.string(signature),
      (r) => r.list(() => ({ ...readType(r), signature, status: r.int() })),
    )
  }

  allClasses(): Promise<Result<LoadedType[]>> {
    return this.asker.ask('VirtualMachine.AllClasses', nothing, (r) => r.list(() => readLoaded(r)))
  }

  allClassesWithGeneric(): Promise<Result<GenericType[]>> {
    return this.asker.ask('VirtualMachine.AllClassesWithGeneric', nothing, (r) =>
      r.list(() => ({
        ...{ ...readType(r), signature: r.string() },
        ...{ genericSignature: r.string(), status: r.int() },
      })),
    )
  }

  /** Live ones. Virtual threads are not among them unless the JVM was started with `includevirtualthreads=y`. */
  allThreads(): Promise<Result<ThreadId[]>> {
    return this.asker.ask('VirtualMachine.AllThreads', nothing, (r) => r.list(() => r.object<ThreadId>()))
  }

  /** Those without a parent. */
  topLevelThreadGroups(): Promise<Result<ThreadGroupId[]>> {
    return this.asker.ask('VirtualMachine.TopLevelThreadGroups', nothing, (r) =>
      r.list(() => r.object<ThreadGroupId>()),
    )
  }

  /**
   * Event requests are cancelled, threads resumed as often as it takes, objects may be collected again. HotSpot answers first, then it
   * closes the connection, for which `JdwpTarget.dispose` waits, and then it does all that and takes the next debugger (debugLoop.c).
   */
  dispose(options?: AskOptions): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.Dispose', nothing, nothing, options)
  }

  /** Suspends all threads. Suspensions are counted: it takes as many resumes. */
  suspend(): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.Suspend', nothing, nothing)
  }

  /** Takes one suspension from each thread. */
  resume(): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.Resume', nothing, nothing)
  }

  /** Ends the JVM as C's `exit` does (`forceExit` of debugInit.c): neither `finally` nor shutdown hooks run. */
  exit(exitCode: number): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.Exit', (w) => w.int(exitCode), nothing)
  }

  /** A new String. Nothing refers to it: see `objectReference.disableCollection`. */
  createString(text: string): Promise<Result<StringId>> {
    return this.asker.ask(
      'VirtualMachine.CreateString',
      (w) => w.string(text),
      (r) => r.object<StringId>(),
    )
  }

  /** The first seven of `capabilitiesNew`. */
  capabilities(): Promise<Result<OldCapabilities>> {
    return this.asker.ask('VirtualMachine.Capabilities', nothing, readOldCapabilities)
  }

  capabilitiesNew(): Promise<Result<Capabilities>> {
    return this.asker.ask('VirtualMachine.CapabilitiesNew', nothing, readCapabilities)
  }

  classPaths(): Promise<Result<ClassPaths>> {
    return this.asker.ask('VirtualMachine.ClassPaths', nothing, (r) => ({
      baseDir: r.string(),
      classpath: r.list(() => r.string()),
      bootclasspath: r.list(() => r.string()),
    }))
  }

  /**
   * The JVM may forget these ids, which it otherwise keeps until their objects are collected.
   *
   * @param requests  `count`: how often the id has come in a packet
   */
  disposeObjects(
    requests: readonly { readonly object: ObjectId; readonly count: number }[],
  ): Promise<Result<void>> {
    return this.asker.ask(
      'VirtualMachine.DisposeObjects',
      (w) => w.list(requests, ({ object, count }) => w.object(object).int(count)),
      nothing,
    )
  }

  /** The JVM keeps events to itself, and may stop its threads when they become many. */
  holdEvents(): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.HoldEvents', nothing, nothing)
  }

  releaseEvents(): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.ReleaseEvents', nothing, nothing)
  }

  /**
   * Gives classes other code. Activations go on in the old code, whose methods are obsolete then; breakpoints in these classes
   * are cleared. Either all are redefined or none. Needs `canRedefineClasses`.
   *
   * @param classes  whole class files
   */
  redefineClasses(
    classes: readonly { readonly type: TypeId; readonly bytes: Uint8Array }[],
  ): Promise<Result<void>> {
    return this.asker.ask(
      'VirtualMachine.RedefineClasses',
      (w) => w.list(classes, ({ type, bytes }) => w.id('referenceType', type).block(bytes)),
      nothing,
    )
  }

  /** @param stratum  empty: each type's own. Needs `canSetDefaultStratum` */
  setDefaultStratum(stratum: string): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.SetDefaultStratum', (w) => w.string(stratum), nothing)
  }

  /** Reachable instances of each, in this order: walks through the heap. Needs `canGetInstanceInfo`. */
  instanceCounts(types: readonly TypeId[], options?: AskOptions): Promise<Result<number[]>> {
    return this.asker.ask(
      'VirtualMachine.InstanceCounts',
      (w) => w.list(types, (type) => w.id('referenceType', type)),
      (r) => r.list(() => r.index()),
      options,
    )
  }

  allModules(): Promise<Result<ModuleId[]>> {
    return this.asker.ask('VirtualMachine.AllModules', nothing, (r) => r.list(() => r.object<ModuleId>()))
  }
}

function readLoaded(r: DataReader): LoadedType {
  return { ...readType(r), signature: r.string(), status: r.int() }
}
