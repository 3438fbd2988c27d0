// Command set 1, VirtualMachine: the JVM as a whole.

import { type AskOptions, nothing } from '../asker.ts'
import type { DataReader } from '../data.ts'
import type { Result } from '../errors.ts'
import type { ModuleId, ObjectId, StringId, ThreadGroupId, ThreadId, TypeId } from '../ids.ts'
import { readCapabilities, readOldCapabilities } from './capabilities.ts'
import { CommandSet, listOf, object, ofType } from './command-set.ts'
import { type Generic, readGeneric } from './reference-type.ts'
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

export type GenericType = LoadedType & Generic

export interface ClassPaths {
  /** Paths below are relative to it. */
  readonly baseDir: string
  readonly classpath: readonly string[]
  readonly bootclasspath: readonly string[]
}

export class VirtualMachine extends CommandSet {
  readonly version = this.command('VirtualMachine.Version', nothing, readVersion)

  /** Every loaded type of this name, one for each loader that has it. Loads none. */
  classesBySignature(signature: string): Promise<Result<LoadedType[]>> {
    return this.asker.ask(
      'VirtualMachine.ClassesBySignature',
      (w) => w.string(signature),
      listOf((r) => ({ ...readType(r), signature, status: r.int() })),
    )
  }

  readonly allClasses = this.command('VirtualMachine.AllClasses', nothing, listOf(readLoaded))

  readonly allClassesWithGeneric = this.command(
    'VirtualMachine.AllClassesWithGeneric',
    nothing,
    listOf(readLoadedGeneric),
  )

  /** Live ones. Virtual threads are not among them unless the JVM was started with `includevirtualthreads=y`. */
  readonly allThreads = this.command('VirtualMachine.AllThreads', nothing, listOf(object<ThreadId>))

  /** Those without a parent. */
  readonly topLevelThreadGroups = this.command(
    'VirtualMachine.TopLevelThreadGroups',
    nothing,
    listOf(object<ThreadGroupId>),
  )

  /**
   * Event requests are cancelled, threads resumed as often as it takes, objects may be collected again. HotSpot answers first, then it
   * closes the connection, for which `JdwpTarget.dispose` waits, and then it does all that and takes the next debugger (debugLoop.c).
   */
  dispose(options?: AskOptions): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.Dispose', nothing, nothing, options)
  }

  /** Suspends all threads. Suspensions are counted: it takes as many resumes. */
  readonly suspend = this.command('VirtualMachine.Suspend', nothing, nothing)

  /** Takes one suspension from each thread. */
  readonly resume = this.command('VirtualMachine.Resume', nothing, nothing)

  /** Ends the JVM as C's `exit` does (`forceExit` of debugInit.c): neither `finally` nor shutdown hooks run. */
  readonly exit = this.command('VirtualMachine.Exit', (w, exitCode: number) => w.int(exitCode), nothing)

  /** A new String. Nothing refers to it: see `objectReference.disableCollection`. */
  readonly createString = this.command(
    'VirtualMachine.CreateString',
    (w, text: string) => w.string(text),
    object<StringId>,
  )

  /** The first seven of `capabilitiesNew`. */
  readonly capabilities = this.command('VirtualMachine.Capabilities', nothing, readOldCapabilities)

  readonly capabilitiesNew = this.command('VirtualMachine.CapabilitiesNew', nothing, readCapabilities)

  readonly classPaths = this.command(
    'VirtualMachine.ClassPaths',
    nothing,
    (r): ClassPaths => ({
      ...{ baseDir: r.string(), classpath: r.list(() => r.string()) },
      bootclasspath: r.list(() => r.string()),
    }),
  )

  /** The JVM may forget these ids, which it otherwise keeps until their objects are collected. `count`: how often the id has come in a packet. */
  readonly disposeObjects = this.command(
    'VirtualMachine.DisposeObjects',
    (w, requests: readonly { readonly object: ObjectId; readonly count: number }[]) =>
      w.list(requests, ({ object: id, count }) => w.object(id).int(count)),
    nothing,
  )

  /** The JVM keeps events to itself, and may stop its threads when they become many. */
  readonly holdEvents = this.command('VirtualMachine.HoldEvents', nothing, nothing)

  readonly releaseEvents = this.command('VirtualMachine.ReleaseEvents', nothing, nothing)

  /**
   * Gives classes other code, by whole class files. Activations go on in the old code, whose methods are obsolete then; breakpoints in
   * these classes are cleared. Either all are redefined or none. Needs `canRedefineClasses`.
   */
  readonly redefineClasses = this.command(
    'VirtualMachine.RedefineClasses',
    (w, classes: readonly { readonly type: TypeId; readonly bytes: Uint8Array }[]) =>
      w.list(classes, ({ type, bytes }) => ofType(w, type).block(bytes)),
    nothing,
  )

  /** Empty: each type's own. Needs `canSetDefaultStratum`. */
  readonly setDefaultStratum = this.command(
    'VirtualMachine.SetDefaultStratum',
    (w, stratum: string) => w.string(stratum),
    nothing,
  )

  /** Reachable instances of each, in this order: walks through the heap. Needs `canGetInstanceInfo`. */
  instanceCounts(types: readonly TypeId[], options?: AskOptions): Promise<Result<number[]>> {
    return this.asker.ask(
      'VirtualMachine.InstanceCounts',
      (w) => w.list(types, (type) => ofType(w, type)),
      listOf((r) => r.index()),
      options,
    )
  }

  readonly allModules = this.command('VirtualMachine.AllModules', nothing, listOf(object<ModuleId>))
}

function readVersion(r: DataReader): Version {
  return {
    ...{ description: r.string(), major: r.int(), minor: r.int() },
    ...{ vmVersion: r.string(), vmName: r.string() },
  }
}

function readLoaded(r: DataReader): LoadedType {
  return { ...readType(r), signature: r.string(), status: r.int() }
}

function readLoadedGeneric(r: DataReader): GenericType {
  return { ...readType(r), signature: r.string(), ...readGeneric(r), status: r.int() }
}
