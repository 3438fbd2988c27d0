// Sends one command of the specification and returns a typed result. Used by all command sets.

import { type CommandName, numbersOf } from './commands.ts'
import type { JdwpConnection } from './connection.ts'
import { DataReader, DataWriter } from './data.ts'
import { granted, type Result } from './errors.ts'
import type { IdSizes } from './ids.ts'

export interface AskOptions {
  /** Timeout for the reply, ms. Default: the timeout of the connection. */
  readonly timeoutMs?: number | undefined
}

/** Reads nothing, for replies without data. */
export const nothing = (): void => {}

export class Asker {
  private constructor(
    readonly connection: JdwpConnection,
    readonly sizes: IdSizes,
  ) {}

  /**
   * Requests the sizes of ids, which are needed to read all other replies, and creates an Asker.
   *
   * @throws MalformedJdwp if a size is not between 1 and 8
   * @throws JdwpRefused, and the errors of `JdwpConnection.command`
   */
  static async over(connection: JdwpConnection): Promise<Asker> {
    const sizes = await connection.command(
      numbersOf('VirtualMachine.IDSizes'),
      new Uint8Array(),
      (data) => {
        const r = new DataReader(data)
        const read = { field: r.idSize(), method: r.idSize(), object: r.idSize() }
        const all: IdSizes = { ...read, referenceType: r.idSize(), frame: r.idSize() }
        r.finish()
        return all
      },
      { name: 'VirtualMachine.IDSizes' },
    )
    return new Asker(connection, granted(sizes, 'VirtualMachine.IDSizes'))
  }

  /**
   * @param write  writes the arguments
   * @param read   reads all data of the reply
   * @param timing  `endsIfSilent`: whether the connection ends at the timeout, as it must for invocations (JdwpSilent)
   * @throws MalformedJdwp if the reply violates the specification
   * @throws RangeError if an argument is out of range; also the errors of `JdwpConnection.command`
   */
  async ask<T>(
    name: CommandName,
    write: (w: DataWriter) => unknown,
    read: (r: DataReader) => T,
    { timeoutMs, endsIfSilent = false }: AskOptions & { readonly endsIfSilent?: boolean } = {},
  ): Promise<Result<T>> {
    const w = new DataWriter(this.sizes)
    write(w)
    const timing = { name, timeoutMs, endsIfSilent }
    return await this.connection.command(numbersOf(name), w.done(), (data) => this.read(data, read), timing)
  }

  /** Reads data completely. @throws MalformedJdwp if unread data remains */
  read<T>(data: Buffer, read: (r: DataReader) => T): T {
    const reader = new DataReader(data, this.sizes)
    const value = read(reader)
    reader.finish()
    return value
  }
}

/** Base class of command sets and of the target. Fields of a subclass are initialised after its asker. */
export abstract class Asking {
  constructor(protected readonly asker: Asker) {}
}
