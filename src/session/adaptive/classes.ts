// Which loaded classes scheme adaptive asks for. A server has tens of thousands, and listing them all takes seconds.

import { HANDLE_MEMBER_CLASS } from '../../instrument/handle-members.ts'
import type { RootPattern } from '../../reveal/patterns.ts'
import type { Agent, LoadedClasses } from '../../wire/agent.ts'

export class ClassFinder {
  readonly #names = new Set<string>([HANDLE_MEMBER_CLASS])
  /** A class is named by a wildcard. */
  #wantsAll = false

  /** Classes of these are asked for from now on. */
  want(patterns: readonly Pick<RootPattern, 'className'>[]): void {
    for (const { className } of patterns) {
      if (className.includes('*')) this.#wantsAll = true
      else this.#names.add(className)
    }
  }

  /** All classes are asked for from now on. */
  wantAll(): void {
    this.#wantsAll = true
  }

  /** Those that have not been told. */
  async list(agent: Agent): Promise<LoadedClasses> {
    return this.#wantsAll ? await agent.loadedClasses() : await agent.findClasses([...this.#names])
  }
}
