// Base class of the command sets, which have a function per command, and common readers and writers.

import { Asking } from '../asker.ts'
import type { CommandName } from '../commands.ts'
import type { DataReader, DataWriter } from '../data.ts'
import type { Result } from '../errors.ts'
import type { ObjectId, TypeId } from '../ids.ts'

export abstract class CommandSet extends Asking {
  /**
   * Returns a function that sends the command with the given arguments.
   *
   * @param write  writes the arguments
   * @param read   reads all data of the reply
   */
  protected command<Arguments extends unknown[], T>(
    name: CommandName,
    write: (w: DataWriter, ...all: Arguments) => unknown,
    read: (r: DataReader) => T,
  ): (...all: Arguments) => Promise<Result<T>> {
    // biome-ignore lint/plugin/no-spread: a command has only a few arguments
    return (...all) => this.asker.ask(name, (w) => write(w, ...all), read)
  }
}

export function ofType<T extends TypeId>(w: DataWriter, type: T): DataWriter {
  return w.id('referenceType', type)
}

export function ofObject<T extends ObjectId | null>(w: DataWriter, object: T): DataWriter {
  return w.object(object)
}

export const int = (r: DataReader): number => r.int()
export const string = (r: DataReader): string => r.string()
export const boolean = (r: DataReader): boolean => r.boolean()

/** Reads an object id. The type argument is the kind of the object according to the specification, as in `object<ThreadId>`. */
export function object<T extends ObjectId>(r: DataReader): T {
  return r.object<T>()
}

export function objectOrNull<T extends ObjectId>(r: DataReader): T | null {
  return r.objectOrNull<T>()
}

export function listOf<T>(one: (r: DataReader) => T): (r: DataReader) => T[] {
  return (r) => r.list(() => one(r))
}
