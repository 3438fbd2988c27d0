// Reads the classes of a JVM over the debugger's port, in the form in which the agent reports classes. Used by a revealer if no agent may
// be loaded. No thread is suspended.

import { append } from '../../base/arrays.ts'
import { CLASS_HIDDEN, CLASS_JDK, CLASS_UNINITIALISED, type ClassInfo } from '../../base/class-info.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { getOrAdd } from '../../base/maps.ts'
import { ClassFormatProblem } from '../../classfile/class-file.ts'
import { type MethodParts, rebuildClass } from '../../classfile/rebuilt.ts'
import * as jdwp from '../../jdwp-client/index.ts'

/** Maximum number of unanswered commands. */
const AT_ONCE = 256
const PUBLIC_BITS = 0xffff
const NO_CODE = 0x0100 | 0x0400 // native, abstract
const PLATFORM_LOADER = 'Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;'

/** Matches the end of a lambda class name, such as `fix/A$$Lambda+0x0000…`. Before JDK 21, a number precedes the plus sign. */
const LAMBDA = /\$\$Lambda(?:\$\d+)?\+.*$/

type Loaded = jdwp.LoadedType & { readonly id: jdwp.TypeId; readonly kind: 'CLASS' | 'INTERFACE' }

interface Loader {
  readonly id: number
  readonly isPlatform: boolean
}

const BOOT: Promise<Loader> = Promise.resolve({ id: 0, isPlatform: false })

export class DebuggerClasses {
  readonly #types = new Map<number, Loaded>()
  readonly #infos = new Map<number, ClassInfo>()
  readonly #loaders = new Map<jdwp.ClassLoaderId, Promise<Loader>>()

  constructor(private readonly jvm: jdwp.JdwpTarget) {}

  /**
   * Returns all loaded classes except arrays.
   * @param onRead  called once per batch, with the number of classes read so far and the total number
   */
  async loaded(onRead: (read: number, of: number) => void = () => {}): Promise<ClassInfo[]> {
    const all = jdwp.granted(await this.jvm.virtualMachine.allClasses(), 'its classes')
    const types = all.filter((it): it is Loaded => it.kind !== 'ARRAY')
    const idOf = new Map<jdwp.TypeId, number>()
    for (const type of types) {
      const id = idOf.size + 1
      idOf.set(type.id, id)
      this.#types.set(id, type)
    }
    for (let at = 0; at < types.length; at += AT_ONCE) {
      onRead(at, types.length)
      const some = types.slice(at, at + AT_ONCE)
      const infos = await Promise.all(some.map((type) => this.#info(type, idOf)))
      for (const info of infos) this.#infos.set(info.id, info)
    }
    this.#nameHosts()
    return [...this.#infos.values()]
  }

  /**
   * Returns a class file for each id, rebuilt from its parts; null if the JVM does not provide the parts. `rebuilt.ts` lists the parts that
   * these class files lack.
   */
  async classBytes(ids: readonly number[]): Promise<(Uint8Array | null)[]> {
    const files: (Uint8Array | null)[] = []
    for (const id of ids) files.push(await this.#file(id))
    return files
  }

  async #info(type: Loaded, idOf: ReadonlyMap<jdwp.TypeId, number>): Promise<ClassInfo> {
    const { referenceType, classType } = this.jvm
    const [modifiers, loader, above, interfaces] = await Promise.all([
      referenceType.modifiers(type.id),
      referenceType.classLoader(type.id),
      type.kind === 'CLASS' ? classType.superclass(type.id as jdwp.ClassId) : none,
      referenceType.interfaces(type.id),
    ])
    const { id: loaderId, isPlatform } = await this.#loader(valueOr(loader, null))
    const text = type.signature.slice(1, -1)
    const isHidden = text.includes('.')
    const name = text.replace('.', '+')
    const isStarted =
      (type.status & (jdwp.STATUS_INITIALIZED | jdwp.STATUS_ERROR)) === jdwp.STATUS_INITIALIZED
    // Some JDK modules are defined to the application's loader. Their classes are recognised only by name.
    const isJdk = loaderId === 0 || isPlatform || isJdkName(name)
    return {
      ...{ id: idOf.get(type.id) ?? 0, name, loader: loaderId },
      superId: idOf.get(valueOr(above, null) ?? ('' as jdwp.TypeId)) ?? 0,
      interfaceIds: valueOr(interfaces, []).flatMap((it) => idOf.get(it) ?? []),
      access: valueOr(modifiers, 0) & PUBLIC_BITS,
      flags: (isJdk ? CLASS_JDK : 0) | (isHidden ? CLASS_HIDDEN : 0) | (isStarted ? 0 : CLASS_UNINITIALISED),
      nestHost: 0,
    }
  }

  /**
   * Sets the nest hosts of lambda classes. A debugger cannot request the nest host of a hidden class, but the name of a lambda class
   * contains it.
   */
  #nameHosts(): void {
    const lambdas = [...this.#infos.values()].filter((it) => LAMBDA.test(it.name))
    if (lambdas.length === 0) return
    const byName = new Map<string, number>()
    for (const { id, name, loader } of this.#infos.values()) byName.set(`${loader} ${name}`, id)
    for (const info of lambdas) {
      const nestHost = byName.get(`${info.loader} ${info.name.replace(LAMBDA, '')}`) ?? 0
      this.#infos.set(info.id, { ...info, nestHost })
    }
  }

  #loader(loader: jdwp.ClassLoaderId | null): Promise<Loader> {
    if (loader === null) return BOOT
    const id = this.#loaders.size + 1
    return getOrAdd(this.#loaders, loader, () =>
      this.#isPlatform(loader).then((isPlatform) => ({ id, isPlatform })),
    )
  }

  async #isPlatform(loader: jdwp.ClassLoaderId): Promise<boolean> {
    const type = await this.jvm.objectReference.referenceType(loader)
    if (!type.ok) return false
    const signature = await this.jvm.referenceType.signature(type.value.id)
    return signature.ok && signature.value === PLATFORM_LOADER
  }

  async #file(id: number): Promise<Uint8Array | null> {
    const type = this.#types.get(id)
    const info = this.#infos.get(id)
    if (type === undefined || info === undefined) return null
    const { referenceType, method } = this.jvm
    const [pool, version, methods] = await Promise.all([
      referenceType.constantPool(type.id),
      referenceType.classFileVersion(type.id),
      referenceType.methods(type.id),
    ])
    if (!pool.ok || !methods.ok) return null // the class is unloaded, or not linked yet
    const parts: MethodParts[] = []
    for (let at = 0; at < methods.value.length; at += AT_ONCE) {
      const read = methods.value.slice(at, at + AT_ONCE).map(async (it): Promise<MethodParts> => {
        const access = it.modifiers & PUBLIC_BITS
        const code = (access & NO_CODE) === 0 ? await method.bytecodes(type.id, it.id) : null
        return { access, name: it.name, descriptor: it.descriptor, bytecode: code?.ok ? code.value : null }
      })
      append(parts, await Promise.all(read))
    }
    const nameOf = (it: number): string | readonly string[] => this.#infos.get(it)?.name ?? []
    try {
      return rebuildClass({
        ...{ major: valueOr(version, { major: 61, minor: 0 }).major, pool: pool.value },
        ...{ access: info.access, name: info.name, methods: parts },
        superName: this.#infos.get(info.superId)?.name ?? (info.name === OBJECT ? null : OBJECT),
        interfaces: info.interfaceIds.flatMap(nameOf),
      })
    } catch (problem) {
      if (problem instanceof ClassFormatProblem) return null
      throw problem
    }
  }
}

const OBJECT = 'java/lang/Object'
const none: Promise<jdwp.Result<null>> = Promise.resolve({ ok: true, value: null })

const valueOr = <T, U>(result: jdwp.Result<T>, other: U): T | U => (result.ok ? result.value : other)
