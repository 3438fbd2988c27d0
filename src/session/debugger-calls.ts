// Methods of the JVM that are run in a thread which stands at an event: what a debugger can have done there.
//
// Other threads are left as they are (`singleThreaded`): they run, as only that one was stopped. Objects that are made here are
// kept from collection until the connection ends.

import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import {
  type ClassId,
  granted,
  type Invoked,
  type JdwpTarget,
  type MethodId,
  type ObjectId,
  type Result,
  type ThreadId,
  type TypeId,
  type Value,
} from '../jdwp-client/index.ts'

/** The agent reads its jar and defines a hundred classes. */
const CALL_MS = 10_000

/** A method that was run for us has thrown. */
export class ThrownInTarget extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'The program goes on as it was. See to what it lacks, then try again.'
  constructor(
    what: string,
    readonly reason: string,
  ) {
    super(`the JVM could not carry out ${what}: ${reason}`)
  }
}

export const NULL: Value = { tag: 'OBJECT', id: null }

export class DebuggerCalls {
  readonly #jvm: JdwpTarget
  readonly #thread: ThreadId

  constructor(jvm: JdwpTarget, thread: ThreadId) {
    this.#jvm = jvm
    this.#thread = thread
  }

  async string(text: string): Promise<Value> {
    const id = granted(await this.#jvm.virtualMachine.createString(text), 'a string')
    granted(await this.#jvm.objectReference.disableCollection(id), 'to keep a string')
    return { tag: 'STRING', id }
  }

  /**
   * A class of the boot loader; initialised.
   *
   * @returns null if there is none of the name, or its module is not there
   */
  async bootClass(name: string): Promise<ClassId | null> {
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
    return await this.loaded(`L${name.replaceAll('.', '/')};`)
  }

  /** The class that the boot loader has of the name; null if none is loaded. */
  async loaded(signature: string): Promise<ClassId | null> {
    for (const type of granted(await this.#jvm.virtualMachine.classesBySignature(signature), signature)) {
      const loader = await this.#jvm.referenceType.classLoader(type.id)
      if (type.kind === 'CLASS' && loader.ok && loader.value === null) return type.id
    }
    return null
  }

  /**
   * Runs a static method.
   *
   * @param type    its signature, if the boot loader has it; else its id
   * @param method  name and descriptor
   * @throws ThrownInTarget
   */
  async static(type: string, method: string, args: readonly Value[] = []): Promise<Value> {
    const id = await this.loaded(type)
    if (id === null) throw new Error(`${type} is not loaded`)
    return await this.staticOf(id, method, args)
  }

  async staticOf(type: ClassId, method: string, args: readonly Value[] = []): Promise<Value> {
    const invocation = { thread: this.#thread, method: await this.#method(type, method), arguments: args }
    const options = { singleThreaded: true, timeoutMs: CALL_MS }
    return await this.#value(method, await this.#jvm.classType.invokeMethod(type, invocation, options))
  }

  /** A new object, whose constructor has run. @param descriptor  of the constructor */
  async create(type: ClassId, descriptor: string, args: readonly Value[] = []): Promise<ObjectId> {
    const method = await this.#method(type, `<init>${descriptor}`)
    const invocation = { thread: this.#thread, method, arguments: args }
    const options = { singleThreaded: true, timeoutMs: CALL_MS }
    const { object, exception } = granted(
      await this.#jvm.classType.newInstance(type, invocation, options),
      'to make an object',
    )
    if (object === null)
      throw new ThrownInTarget(
        'a constructor',
        exception === null ? 'no object' : await this.#described(exception.id),
      )
    granted(await this.#jvm.objectReference.disableCollection(object.id), 'to keep an object')
    return object.id
  }

  /** @param type  which declares the method */
  async of(object: ObjectId, type: TypeId, method: string, args: readonly Value[] = []): Promise<Value> {
    const invocation = { thread: this.#thread, method: await this.#method(type, method), arguments: args }
    const options = { singleThreaded: true, timeoutMs: CALL_MS }
    return await this.#value(
      method,
      await this.#jvm.objectReference.invokeMethod(object, type, invocation, options),
    )
  }

  /** Of a String; null for null. */
  async text(value: Value): Promise<string | null> {
    if (value.tag !== 'STRING' || value.id === null) return null
    return granted(await this.#jvm.stringReference.value(value.id), 'a string')
  }

  async #method(type: TypeId, method: string): Promise<MethodId> {
    const methods = granted(await this.#jvm.referenceType.methods(type), `methods with ${method}`)
    const found = methods.find(({ name, descriptor }) => `${name}${descriptor}` === method)
    if (found === undefined) throw new ThrownInTarget(method, 'there is no such method')
    return found.id
  }

  async #value(what: string, result: Result<Invoked>): Promise<Value> {
    const { value, exception } = granted(result, `to run ${what}`)
    if (exception === null) return value
    throw new ThrownInTarget(what.replace(/\(.*/, '()'), await this.#described(exception.id))
  }

  async #described(thrown: ObjectId): Promise<string> {
    const throwable = await this.loaded('Ljava/lang/Throwable;')
    if (throwable === null) return 'an exception'
    try {
      const text = await this.text(await this.of(thrown, throwable, 'toString()Ljava/lang/String;'))
      return text ?? 'an exception'
    } catch (problem) {
      if (problem instanceof ThrownInTarget) return 'an exception that cannot say what it is'
      throw problem
    }
  }
}
