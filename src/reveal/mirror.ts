// Class mirrors: the method tables and method bodies of classes, for the analysis of calls.
//
// The target needs about 0.2 ms to send the bytes of a class, so a mirror is created when its method table is first
// needed. Method tables stay in memory for the session. Class files (needed to read bodies)
// are cached up to a limit, oldest dropped first, and requested again if necessary.

import { CLASS_UNINITIALISED } from '../base/class-info.ts'
import { hasAnnotation } from '../classfile/annotations.ts'
import { type ClassFile, ClassFormatProblem, type MethodInfo } from '../classfile/class-file.ts'
import { readableClassFile } from '../classfile/recent.ts'
import { type LambdaSite, type MethodBody, NO_BODY, readBody, type Site } from './call-sites.ts'
import { type Hierarchy, isJdk } from './hierarchy.ts'

export interface MirrorMethod extends Pick<MethodInfo, 'index' | 'access' | 'name' | 'descriptor'> {
  /** Whether C2 may replace the method by an intrinsic even if it has probes, so that its calls cannot be counted. */
  readonly intrinsic: boolean
}

export interface Mirror extends Pick<ClassFile, 'access' | 'superName' | 'interfaces'> {
  readonly methods: readonly MirrorMethod[]
  /** Methods, keyed by name and descriptor: `run()V`. */
  readonly bySelector: ReadonlyMap<string, MirrorMethod>
}

export interface RevealPort {
  /** Requests class files, in the order of `ids`; null for a class file that the target cannot provide. Makes one round trip. */
  classBytes(ids: readonly number[]): Promise<readonly (Uint8Array | null)[]>
}

const INTRINSIC = [
  'Ljdk/internal/vm/annotation/IntrinsicCandidate;',
  'Ljdk/internal/HotSpotIntrinsicCandidate;',
]
/** Maximum number of classes per request, so that an answer has at most a few MiB. */
const BATCH = 500
/** Maximum size of the cached class files. */
const BUDGET_BYTES = 32 * 1024 * 1024

export class Mirrors {
  readonly #mirrors = new Map<number, Mirror | null>()
  readonly #files = new Map<number, ClassFile>()
  readonly #lambdas = new Map<number, readonly LambdaSite[]>()
  #bytes = 0
  /** Number of times that a class file was parsed. */
  parsed = 0
  /** Number of included classes that could not be read, so that their calls are unknown. */
  unreadable = 0

  constructor(
    private readonly port: RevealPort,
    private readonly hierarchy: Hierarchy,
  ) {}

  /** Returns the mirror; null if the class cannot be read; undefined if it was not requested yet. */
  get(id: number): Mirror | null | undefined {
    return this.#mirrors.get(id)
  }

  hasFile(id: number): boolean {
    return this.#files.has(id) || this.#mirrors.get(id) === null
  }

  /** Creates a mirror from bytes that the class-load hook provides. */
  put(id: number, bytes: Uint8Array, jdk: boolean): Mirror | null {
    const file = readableClassFile(bytes)
    if (file === null) {
      this.unreadable++
      this.#mirrors.set(id, null)
      return null
    }
    this.parsed++
    this.#keep(id, file)
    const known = this.#mirrors.get(id)
    if (known) return known
    const mirror = mirrorOf(file, jdk)
    this.#mirrors.set(id, mirror)
    return mirror
  }

  /** Fetches the mirrors of these classes that are not available yet. */
  async fetch(ids: readonly number[]): Promise<void> {
    await this.#fetch(ids.filter((id) => !this.#mirrors.has(id)))
  }

  /** Fetches the mirrors and class files of these classes that are not available yet. */
  async fetchFiles(ids: Iterable<number>): Promise<void> {
    await this.#fetch([...new Set(ids)].filter((id) => !this.hasFile(id)))
  }

  async #fetch(missing: readonly number[]): Promise<void> {
    for (let at = 0; at < missing.length; at += BATCH) {
      const batch = missing.slice(at, at + BATCH)
      const answers = await this.port.classBytes(batch)
      for (const [i, id] of batch.entries()) {
        const bytes = answers[i]
        if (bytes) this.put(id, bytes, isJdk(this.hierarchy.get(id)))
        else {
          if (this.#isFollowed(id)) this.unreadable++
          if (!this.#mirrors.has(id)) this.#mirrors.set(id, null)
        }
      }
    }
  }

  /**
   * Returns whether calls are missing if the class cannot be read. If the calls of a class are not followed, only its method table is
   * needed; without the table, every method of a subtype counts as an override. The JVM provides no bytes for a class whose initialiser
   * failed, but such a class never runs.
   */
  #isFollowed(id: number): boolean {
    const node = this.hierarchy.get(id)
    return node === undefined || (node.included && (node.flags & CLASS_UNINITIALISED) === 0)
  }

  /** Returns the sites of a method's bytecode. The class file must have been fetched. */
  body(id: number, methodIndex: number): MethodBody {
    const file = this.#files.get(id)
    if (file === undefined) return NO_BODY // the class is unreadable, and was counted in `unreadable`
    try {
      return readBody(file, this.#methodOf(id, file, methodIndex))
    } catch (problem) {
      if (!(problem instanceof ClassFormatProblem)) throw problem
      this.unreadable++
      return NO_BODY
    }
  }

  /** Returns a method by its index in the mirror. A mirror from the load hook may have another method order than HotSpot's loaded class. */
  #methodOf(id: number, file: ClassFile, methodIndex: number): MethodInfo {
    const method = file.methods[methodIndex]
    const meant = this.#mirrors.get(id)?.methods[methodIndex]
    const isMeant = (it: MethodInfo) => it.name === meant?.name && it.descriptor === meant.descriptor
    return meant === undefined || isMeant(method) ? method : (file.methods.find(isMeant) ?? method)
  }

  /** Returns all lambdas that the class creates. Its class file must have been fetched once. */
  lambdas(id: number): readonly LambdaSite[] {
    const known = this.#lambdas.get(id)
    if (known !== undefined) return known
    const found = (this.#files.get(id)?.methods ?? []).flatMap((it) => this.body(id, it.index).lambdas)
    this.#lambdas.set(id, found)
    return found
  }

  hasLambdas(id: number): boolean {
    return this.#lambdas.has(id)
  }

  /** Drops the oldest class files until the cache is within its limit. Not called while bodies are read. */
  trim(): void {
    for (const [id, file] of this.#files) {
      if (this.#bytes <= BUDGET_BYTES) return
      this.#files.delete(id)
      this.#bytes -= file.bytes.length
    }
  }

  /** Removes an unloaded class. */
  drop(id: number): void {
    this.forgetFile(id)
    this.#mirrors.delete(id)
  }

  /** Drops the class file of a redefined class. The class still has the same methods. */
  forgetFile(id: number): void {
    this.#bytes -= this.#files.get(id)?.bytes.length ?? 0
    this.#files.delete(id)
    this.#lambdas.delete(id)
  }

  #keep(id: number, file: ClassFile): void {
    const old = this.#files.get(id)
    if (old !== undefined) this.#bytes -= old.bytes.length
    this.#files.set(id, file)
    this.#bytes += file.bytes.length
  }
}

/** Returns the sites of all methods of a class file; null if the class file cannot be read. */
export function sitesOf(bytes: Uint8Array): { className: string; sites: Site[] } | null {
  const file = readableClassFile(bytes)
  if (file === null) return null
  try {
    return { className: file.name, sites: file.methods.flatMap((it) => readBody(file, it).sites) }
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return null
    throw problem
  }
}

function mirrorOf(file: ClassFile, jdk: boolean): Mirror {
  const methods = file.methods.map((it): MirrorMethod => {
    const { index, access, name, descriptor } = it
    return { index, access, name, descriptor, intrinsic: jdk && isIntrinsic(file, index) }
  })
  const bySelector = new Map(methods.map((it) => [it.name + it.descriptor, it]))
  const { access, superName, interfaces } = file
  return { access, superName, interfaces, methods, bySelector }
}

function isIntrinsic(file: ClassFile, index: number): boolean {
  try {
    return INTRINSIC.some((annotation) => hasAnnotation(file, file.methods[index], annotation))
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return false
    throw problem
  }
}
