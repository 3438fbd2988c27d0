// One command of the specification: arguments in, a typed result out. What all command sets stand on.

import { type CommandName, numbersOf } from './commands.ts'
import type { JdwpConnection } from './connection.ts'
import { DataReader, DataWriter } from './data.ts'
import { granted, type Result } from './errors.ts'
import type { IdSizes } from './ids.ts'

export interface AskOptions {
  /** Waits for the reply no longer; what the connection was told unless given. */
  readonly timeoutMs?: number | undefined
}

/** For replies that have no data. */
export const nothing = (): void => {}

export class Asker {
  private constructor(
    readonly connection: JdwpConnection,
    readonly sizes: IdSizes,
  ) {}

  /**
   * Asks for the sizes of ids, without which nothing else can be read.
   *
   * @throws MalformedJdwp if they are not 1 to 8, JdwpRefused, and what `JdwpConnection.command` throws
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
   * @param write  the arguments
   * @param read   the reply; all of it is to be read
   * @param timing  `endsIfSilent`: of invocations, which nobody may leave behind (JdwpSilent)
   * @throws what `JdwpConnection.command` throws, MalformedJdwp if the reply is not as the specification has it,
   *         RangeError if an argument does not fit
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

  /** Reads data from the first byte to the last. */
  read<T>(data: Buffer, read: (r: DataReader) => T): T {
    const reader = new DataReader(data, this.sizes)
    const value = read(reader)
    reader.finish()
    return value
  }
}

/** What asks a JVM: a command set, and the target that has all of them. Its fields are made after its asker. */
export abstract class Asking {
  constructor(protected readonly asker: Asker) {}
}
