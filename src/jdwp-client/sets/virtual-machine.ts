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
  /** Text that the JVM composes from the other fields. */
  readonly description: string
  /** Major version of JDWP. Since JDK 9 it is the feature version of the JDK. */
  readonly major: number
  readonly minor: number
  /** Value of the property `java.version`. */
  readonly vmVersion: string
  /** Value of the property `java.vm.name`. */
  readonly vmName: string
}

export type LoadedType = Type & {
  /** JNI signature: `Lfix/Ticker;`. */
  readonly signature: string
  /** Status of the type: bits of STATUS_…. */
  readonly status: number
}

export type GenericType = LoadedType & Generic

export interface ClassPaths {
  /** Directory to which relative paths in the class paths refer. */
  readonly baseDir: string
  readonly classpath: readonly string[]
  readonly bootclasspath: readonly string[]
}

export class VirtualMachine extends CommandSet {
  readonly version = this.command('VirtualMachine.Version', nothing, readVersion)

  /** Returns all loaded types with this name, at most one per loader. Loads no type. */
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

  /** Returns live threads. Virtual threads are included only if the JVM was started with `includevirtualthreads=y`. */
  readonly allThreads = this.command('VirtualMachine.AllThreads', nothing, listOf(object<ThreadId>))

  /** Returns thread groups without a parent. */
  readonly topLevelThreadGroups = this.command(
    'VirtualMachine.TopLevelThreadGroups',
    nothing,
    listOf(object<ThreadGroupId>),
  )

  /**
   * Cancels event requests, resumes all threads, and allows objects to be collected. HotSpot first answers and closes the connection
   * (`JdwpTarget.dispose` waits for the close). Only then it resumes the threads and accepts the next debugger (debugLoop.c).
   */
  dispose(options?: AskOptions): Promise<Result<void>> {
    return this.asker.ask('VirtualMachine.Dispose', nothing, nothing, options)
  }

  /** Suspends all threads. Suspensions are counted: each needs a resume. */
  readonly suspend = this.command('VirtualMachine.Suspend', nothing, nothing)

  /** Removes one suspension of each thread. */
  readonly resume = this.command('VirtualMachine.Resume', nothing, nothing)

  /** Ends the JVM like `exit` of C (`forceExit` of debugInit.c): neither `finally` blocks nor shutdown hooks run. */
  readonly exit = this.command('VirtualMachine.Exit', (w, exitCode: number) => w.int(exitCode), nothing)

  /** Creates a String. The program does not refer to the new object: see `objectReference.disableCollection`. */
  readonly createString = this.command(
    'VirtualMachine.CreateString',
    (w, text: string) => w.string(text),
    object<StringId>,
  )

  /** Returns the first seven of `capabilitiesNew`. */
  readonly capabilities = this.command('VirtualMachine.Capabilities', nothing, readOldCapabilities)

  readonly capabilitiesNew = this.command('VirtualMachine.CapabilitiesNew', nothing, readCapabilities)

  readonly classPaths = this.command(
    'VirtualMachine.ClassPaths',
    nothing,
    (r): ClassPaths => ({
      baseDir: r.string(),
      classpath: r.list(() => r.string()),
      bootclasspath: r.list(() => r.string()),
    }),
  )

  /** Lets the JVM drop these ids, which it otherwise keeps until their objects are collected. `count`: how often the JVM sent the id. */
  readonly disposeObjects = this.command(
    'VirtualMachine.DisposeObjects',
    (w, requests: readonly { readonly object: ObjectId; readonly count: number }[]) =>
      w.list(requests, ({ object: id, count }) => w.object(id).int(count)),
    nothing,
  )

  /** Makes the JVM hold events. The JVM may stop its threads when it holds many events. */
  readonly holdEvents = this.command('VirtualMachine.HoldEvents', nothing, nothing)

  readonly releaseEvents = this.command('VirtualMachine.ReleaseEvents', nothing, nothing)

  /**
   * Redefines classes; the arguments are complete class files. Active calls continue in the old code, and their methods become obsolete.
   * The JVM clears breakpoints in these classes. Redefines all of these classes or none. Needs `canRedefineClasses`.
   */
  readonly redefineClasses = this.command(
    'VirtualMachine.RedefineClasses',
    (w, classes: readonly { readonly type: TypeId; readonly bytes: Uint8Array }[]) =>
      w.list(classes, ({ type, bytes }) => ofType(w, type).block(bytes)),
    nothing,
  )

  /** Sets the default stratum; with an empty name, each type uses its own default stratum. */
  readonly setDefaultStratum = this.command(
    'VirtualMachine.SetDefaultStratum',
    (w, stratum: string) => w.string(stratum),
    nothing,
  )

  /** Returns the number of reachable instances of each type, in the order of `types`. Walks the heap. Needs `canGetInstanceInfo`. */
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
