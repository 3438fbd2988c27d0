// Runs methods of the JVM in a thread that is suspended at an event. JDWP allows this only in a thread that an event has suspended.
// Other threads continue to run (`singleThreaded`). Objects created here are protected from garbage collection until the connection ends.
// Each request is a network round trip during which the thread is suspended. So no request is repeated, and requests that need no
// suspended thread are sent before the thread is suspended (`foresee`).

import { EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { getOrAdd } from '../../base/maps.ts'
import * as jdwp from '../../jdwp-client/index.ts'

/** Time limit for running one method. The slowest method makes the agent read its jar and define a hundred classes. */
const CALL_TIMEOUT_MS = 10_000
/** Options for running a method: other threads continue to run. */
const ALONE = { singleThreaded: true, timeoutMs: CALL_TIMEOUT_MS }

/** Thrown if a method that was run for jfluid has thrown an exception. */
export class ThrownInTarget extends JfluidError {
  static sample = () =>
    new ThrownInTarget('Thread.start()', 'java.lang.OutOfMemoryError: unable to create native thread')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Remove the cause, then try again. The program runs on unchanged.'
  constructor(
    what: string,
    readonly reason: string,
  ) {
    super(`the JVM could not execute ${what}: ${reason}`)
  }
}

/** Flag of an initialised class (JDWP, ClassStatus). */
const INITIALIZED = 4

export const NULL: jdwp.Value = { tag: 'OBJECT', id: null }

type Methods =
  Awaited<ReturnType<jdwp.JdwpTarget['referenceType']['methods']>> extends jdwp.Result<infer T> ? T : never

/** Returns the object id of a value; null if the value is not an object. */
export const objectIn = (value: jdwp.Value | undefined): jdwp.ObjectId | null =>
  value !== undefined && 'id' in value ? value.id : null

const signatureOf = (name: string): string => `L${name.replaceAll('.', '/')};`

export class DebuggerCalls {
  #standing: jdwp.ThreadId | undefined
  readonly #strings = new Map<string, Promise<jdwp.Value>>()
  readonly #methods = new Map<jdwp.TypeId, Promise<jdwp.Result<Methods>>>()
  readonly #loaded = new Map<string, jdwp.ClassId>()
  readonly #ready = new Set<string>()
  readonly #absent = new Set<string>()

  constructor(private readonly jvm: jdwp.JdwpTarget) {}

  /** Sets the suspended thread in which methods run from now on. */
  standsIn(thread: jdwp.ThreadId): void {
    this.#standing = thread
  }

  /**
   * Sends the requests that need no suspended thread, before a thread is suspended.
   * @param classes  names of classes of the boot loader; a class that is not loaded is skipped
   * @param texts    strings that are created in the JVM
   */
  async foresee(classes: readonly string[], texts: readonly string[]): Promise<void> {
    const known = async (name: string): Promise<void> => {
      const id = await this.loaded(signatureOf(name))
      if (id === null) this.#absent.add(signatureOf(name))
      else await this.methodsOf(id)
    }
    await Promise.all([...classes.map(known), ...texts.map((text) => this.string(text))])
  }

  get #thread(): jdwp.ThreadId {
    if (this.#standing === undefined) throw new Error('no thread stands')
    return this.#standing
  }

  string(text: string): Promise<jdwp.Value> {
    return getOrAdd(this.#strings, text, () => this.#string(text))
  }

  async #string(text: string): Promise<jdwp.Value> {
    const id = jdwp.granted(await this.jvm.virtualMachine.createString(text), 'a string')
    this.keep(id)
    return { tag: 'STRING', id }
  }

  /**
   * Protects an object from garbage collection. The reply is not awaited: the JVM executes commands in order, and the next command reports
   * a lost connection.
   */
  keep(object: jdwp.ObjectId): void {
    void this.jvm.objectReference.disableCollection(object).catch(() => {})
  }

  /**
   * Returns a class of the boot loader and initialises it.
   * @returns null if there is no such class, or if its module is missing
   */
  async bootClass(name: string): Promise<jdwp.ClassId | null> {
    const signature = signatureOf(name)
    const before = this.#absent.has(signature) ? null : await this.loaded(signature)
    if (before !== null && this.#ready.has(signature)) return before
    const forName = 'forName(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;'
    try {
      await this.static('Ljava/lang/Class;', forName, [
        await this.string(name),
        { tag: 'BOOLEAN', value: true },
        NULL,
      ])
    } catch (problem) {
      if (problem instanceof ThrownInTarget && /ClassNotFound|NoClassDefFound/.test(problem.reason))
        return null
      throw problem
    }
    this.#ready.add(signature)
    return await this.loaded(signature, true)
  }

  /**
   * Returns a class like `bootClass`, but throws an error if the class is missing.
   * @param what  the operation that needs the class
   */
  async neededClass(name: string, what = name): Promise<jdwp.ClassId> {
    const type = await this.bootClass(name)
    if (type === null) throw new ThrownInTarget(what, 'the class does not exist')
    return type
  }

  /**
   * Returns the class with this signature if the boot loader has already loaded it, otherwise null.
   * @param isCertain  whether the class is known to be loaded
   */
  async loaded(signature: string, isCertain = false): Promise<jdwp.ClassId | null> {
    const before = this.#loaded.get(signature)
    if (before !== undefined) return before
    const types = jdwp.granted(await this.jvm.virtualMachine.classesBySignature(signature), signature)
    for (const type of types) {
      const loader =
        isCertain && types.length === 1 ? null : await this.jvm.referenceType.classLoader(type.id)
      if (type.kind !== 'CLASS' || (loader !== null && (!loader.ok || loader.value !== null))) continue
      this.#loaded.set(signature, type.id)
      if ((type.status & INITIALIZED) !== 0) this.#ready.add(signature)
      return type.id
    }
    return null
  }

  /**
   * Runs a static method.
   * @param type    signature of a class of the boot loader (`staticOf` has a class id as its parameter)
   * @param method  method name and descriptor
   * @throws ThrownInTarget
   */
  async static(type: string, method: string, args: readonly jdwp.Value[] = []): Promise<jdwp.Value> {
    const id = await this.loaded(type)
    if (id === null) throw new Error(`${type} is not loaded`)
    return await this.staticOf(id, method, args)
  }

  async staticOf(type: jdwp.ClassId, method: string, args: readonly jdwp.Value[] = []): Promise<jdwp.Value> {
    const invocation = await this.#invocation(type, method, args)
    return await this.#value(method, await this.jvm.classType.invokeMethod(type, invocation, ALONE))
  }

  /**
   * Creates an object and runs its constructor.
   * @param descriptor  descriptor of the constructor
   */
  async create(
    type: jdwp.ClassId,
    descriptor: string,
    args: readonly jdwp.Value[] = [],
  ): Promise<jdwp.ObjectId> {
    const invocation = await this.#invocation(type, `<init>${descriptor}`, args)
    const { object, exception } = jdwp.granted(
      await this.jvm.classType.newInstance(type, invocation, ALONE),
      'to make an object',
    )
    if (object === null)
      throw new ThrownInTarget(
        'a constructor',
        exception === null ? 'no object' : await this.#described(exception.id),
      )
    this.keep(object.id)
    return object.id
  }

  /**
   * Runs a method of an object.
   * @param type  the class that declares the method
   */
  async of(
    object: jdwp.ObjectId,
    type: jdwp.TypeId,
    method: string,
    args: readonly jdwp.Value[] = [],
  ): Promise<jdwp.Value> {
    const invocation = await this.#invocation(type, method, args)
    return await this.#value(
      method,
      await this.jvm.objectReference.invokeMethod(object, type, invocation, ALONE),
    )
  }

  /** Returns the text of a String object; null if the value is null. */
  async text(value: jdwp.Value): Promise<string | null> {
    if (value.tag !== 'STRING' || value.id === null) return null
    return jdwp.granted(await this.jvm.stringReference.value(value.id), 'a string')
  }

  async #invocation(type: jdwp.TypeId, method: string, args: readonly jdwp.Value[]) {
    const thread = this.#thread
    const methods = jdwp.granted(await this.methodsOf(type), `methods with ${method}`)
    const found = methods.find(({ name, descriptor }) => `${name}${descriptor}` === method)
    if (found === undefined) throw new ThrownInTarget(method, 'the method does not exist')
    return { thread, method: found.id, arguments: args }
  }

  /** Returns the methods of a class. The request is made once per class. */
  methodsOf(type: jdwp.TypeId): Promise<jdwp.Result<Methods>> {
    return getOrAdd(this.#methods, type, () => this.jvm.referenceType.methods(type))
  }

  async #value(what: string, result: jdwp.Result<jdwp.Invoked>): Promise<jdwp.Value> {
    const { value, exception } = jdwp.granted(result, `to run ${what}`)
    if (exception === null) {
      const object = objectIn(value)
      if (object !== null) this.keep(object)
      return value
    }
    throw new ThrownInTarget(what.replace(/\(.*/, '()'), await this.#described(exception.id))
  }

  async #described(thrown: jdwp.ObjectId): Promise<string> {
    const throwable = await this.loaded('Ljava/lang/Throwable;')
    if (throwable === null) return 'an exception'
    try {
      const text = await this.text(await this.of(thrown, throwable, 'toString()Ljava/lang/String;'))
      return text ?? 'an exception'
    } catch (problem) {
      if (problem instanceof ThrownInTarget) return 'an exception without a readable message'
      throw problem
    }
  }
}

// Finds the security manager of a JVM through the debugger, even if the program has set it at run time or the JVM runs on another machine.

const SYSTEM = 'Ljava/lang/System;'
/** Name of the field of java.lang.System that refers to the security manager, in JDK 23 and older. */
const FIELD = 'security'

/** @returns the class name of the security manager; null if there is none */
export async function securityManager(jvm: jdwp.JdwpTarget): Promise<string | null> {
  for (const { id } of jdwp.granted(await jvm.virtualMachine.classesBySignature(SYSTEM), SYSTEM)) {
    const fields = jdwp.granted(await jvm.referenceType.fields(id), `fields of ${SYSTEM}`)
    const field = fields.find(({ name }) => name === FIELD)
    if (field === undefined) continue
    const [value] = jdwp.granted(await jvm.referenceType.getValues(id, [field.id]), 'its security manager')
    const manager = objectIn(value)
    if (manager !== null) return await classOf(jvm, manager)
  }
  return null
}

async function classOf(jvm: jdwp.JdwpTarget, object: jdwp.ObjectId): Promise<string> {
  const type = jdwp.granted(await jvm.objectReference.referenceType(object), 'its security manager')
  const signature = jdwp.granted(await jvm.referenceType.signature(type.id), 'its security manager')
  return signature.slice(1, -1).replaceAll('/', '.')
}
