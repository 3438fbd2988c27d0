// A JVM with a debugger agent: the command sets of the specification by name, and its events.

import { alarm } from './alarm.ts'
import { Asker, Asking } from './asker.ts'
import { COMPOSITE, EVENT_SET } from './commands.ts'
import { type ConnectionOptions, JdwpConnection } from './connection.ts'
import { connect, type JdwpPort } from './doors.ts'
import { JdwpLost, JdwpSilent, MalformedJdwp, type Result } from './errors.ts'
import { EventQueue } from './event-queue.ts'
import { type EventSet, readEventSet, threadOf } from './events.ts'
import type { CommandPacket } from './packet.ts'
import { EventRequest } from './sets/event-request.ts'
import {
  ArrayReference,
  ClassLoaderReference,
  ClassObjectReference,
  ModuleReference,
  StringReference,
} from './sets/kinds-of-object.ts'
import { ArrayType, ClassType, InterfaceType } from './sets/kinds-of-type.ts'
import { Method } from './sets/method.ts'
import { ObjectReference } from './sets/object-reference.ts'
import { ReferenceType } from './sets/reference-type.ts'
import { StackFrame } from './sets/stack-frame.ts'
import { ThreadGroupReference, ThreadReference } from './sets/threads.ts'
import { VirtualMachine } from './sets/virtual-machine.ts'

/** Maximum number of event packets before the sizes of ids are known. Normally only the packet with VM_START arrives so early. */
const MAX_EARLY = 16
/** Timeout for the reply to Dispose. */
const DISPOSE_TIMEOUT_MS = 5000
/** Timeout for the JVM to close the connection after its reply to Dispose. The JVM normally closes it at once. */
const CLOSE_TIMEOUT_MS = 2000

export type TargetOptions = Omit<ConnectionOptions, 'onCommand' | 'onLost'>

export class JdwpTarget extends Asking implements AsyncDisposable {
  readonly virtualMachine = new VirtualMachine(this.asker)
  readonly referenceType = new ReferenceType(this.asker)
  readonly classType = new ClassType(this.asker)
  readonly arrayType = new ArrayType(this.asker)
  readonly interfaceType = new InterfaceType(this.asker)
  readonly method = new Method(this.asker)
  readonly objectReference = new ObjectReference(this.asker)
  readonly stringReference = new StringReference(this.asker)
  readonly threadReference = new ThreadReference(this.asker)
  readonly threadGroupReference = new ThreadGroupReference(this.asker)
  readonly arrayReference = new ArrayReference(this.asker)
  readonly classLoaderReference = new ClassLoaderReference(this.asker)
  readonly eventRequest = new EventRequest(this.asker)
  readonly stackFrame = new StackFrame(this.asker)
  readonly classObjectReference = new ClassObjectReference(this.asker)
  readonly moduleReference = new ModuleReference(this.asker)
  readonly connection = this.asker.connection
  readonly idSizes = this.asker.sizes

  private constructor(
    asker: Asker,
    readonly events: EventQueue,
  ) {
    super(asker)
  }

  /**
   * Connects to a JVM that listens for a debugger (`server=y`).
   *
   * @throws NoDebuggerPort, MalformedJdwp, JdwpSilent, JdwpLost
   */
  static connect(
    port: number,
    { host, ...options }: TargetOptions & { readonly host?: string } = {},
  ): Promise<JdwpTarget> {
    return JdwpTarget.#over((hooks) =>
      connect(port, { ...options, ...hooks, ...(host === undefined ? {} : { host }) }),
    )
  }

  /**
   * Waits for a JVM that connects to this process (`server=n`).
   *
   * @throws NoJvmCame, MalformedJdwp, JdwpSilent, JdwpLost
   */
  static accept(
    port: JdwpPort,
    options: TargetOptions & { readonly timeoutMs?: number } = {},
  ): Promise<JdwpTarget> {
    return JdwpTarget.#over((hooks) => port.accept({ ...options, ...hooks }))
  }

  /** Uses an existing stream to a JVM, for example a stream through a proxy or a recorded stream. */
  static over(
    stream: Parameters<typeof JdwpConnection.over>[0],
    options: TargetOptions = {},
  ): Promise<JdwpTarget> {
    return JdwpTarget.#over((hooks) => JdwpConnection.over(stream, { ...options, ...hooks }))
  }

  static async #over(open: (hooks: ConnectionOptions) => Promise<JdwpConnection>): Promise<JdwpTarget> {
    const events = new EventQueue()
    const early: CommandPacket[] = []
    let take = (packet: CommandPacket): void => {
      early.push(packet)
      if (early.length > MAX_EARLY) throw new MalformedJdwp('events before the sizes of ids')
    }
    const connection = await open({
      onCommand: (packet) => take(packet),
      onLost: (reason) => events.end(reason),
    })
    try {
      const asker = await Asker.over(connection)
      take = (packet) => {
        // Ignores commands of JVM vendors (Android has some). Commands from the JVM need no reply.
        if (packet.set !== EVENT_SET || packet.command !== COMPOSITE) return
        events.push(asker.read(packet.data, readEventSet), packet.data.length)
      }
      for (const packet of early) take(packet)
      return new JdwpTarget(asker, events)
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Resumes the threads that an event set has suspended. */
  async resume(set: EventSet): Promise<Result<void>> {
    const thread = threadOf(set)
    if (set.suspendPolicy === 'NONE') return { ok: true, value: undefined }
    if (set.suspendPolicy === 'EVENT_THREAD' && thread !== null) return this.threadReference.resume(thread)
    return this.virtualMachine.resume()
  }

  /**
   * Sends VirtualMachine.Dispose and ends the connection. The JVM then resumes all threads and accepts another debugger. If the
   * connection breaks without Dispose, the JVM does the same.
   */
  async dispose(): Promise<void> {
    try {
      const { ok } = await this.virtualMachine.dispose({ timeoutMs: DISPOSE_TIMEOUT_MS })
      if (ok) await this.#closedWithin(CLOSE_TIMEOUT_MS)
    } catch (error) {
      if (!(error instanceof JdwpLost || error instanceof JdwpSilent || error instanceof MalformedJdwp))
        throw error
    }
    await this.connection.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  #closedWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const disarm = alarm(ms, resolve)
      void this.connection.closed.then(() => {
        disarm()
        resolve()
      })
    })
  }
}
