// Watches for JVMs that a program starts besides the profiled JVM. If nothing was recorded, the root may have run in one of them.

import { isJavaLauncher, mainClassOf } from '../attach/java-command.ts'
import { childrenOf, readCommand } from '../attach/target-process.ts'
import { EX_NOTCALLED, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'

/** Minimum interval between two searches for JVMs. A JVM needs about as long to start. */
const LOOK_INTERVAL_MS = 100
/** Minimum interval as a multiple of the duration of a search: the searches use at most 2 % of a processor. */
const REST_FACTOR = 50
/** Maximum number of JVMs in the message. */
const MAX_NAMED = 3

/** The roots were not called in the profiled JVM, and the program has started further JVMs. */
export class CalledElsewhere extends JfluidError {
  static sample = () =>
    new CalledElsewhere(4711, ['com.acme.shop.OrderTest.place'], ['surefirebooter.jar', 'ForkedMain'])
  readonly exitCode = EX_NOTCALLED
  readonly hint: string
  /**
   * @param others  main classes or jars of the further JVMs, the last started JVM last; as a number, the process id of a JVM that ended
   * before its command line could be read
   */
  constructor(pid: number, roots: readonly string[], others: readonly (string | number)[]) {
    const named = others
      .slice(-MAX_NAMED)
      .map((it) => (typeof it === 'number' ? `process ${it}` : it))
      .join(', ')
    const what = roots.length === 0 ? 'nothing was recorded' : `no call of ${roots.join(', ')} was recorded`
    super(`${what} in JVM ${pid}, and the program has started further JVMs, which are not profiled: ${named}`)
    const asked = roots.map((root) => `--root ${shellWord(root)}`)
    const options = [...(asked.length === 0 ? ['--mode sample'] : asked), '--out further.jfluid'].join(' ')
    const known = others.findLast((it) => typeof it === 'string')
    const name = known === undefined ? '<main class>' : shellWord(known)
    this.hint = `Add --jvm ${name} before --, or use jfluid record --wait-for ${name} ${options} in another terminal before you start the program again.`
  }
}

/** Looks for further JVMs until `stop` is called. */
export class FurtherJvms {
  /** Main class or jar per process; null if the command line has not been read, which is empty for a moment at the start of a process. */
  readonly #names = new Map<number, string | null>()
  readonly #profiledCommand: string
  #timer: NodeJS.Timeout | undefined

  /**
   * @param program   process that was started
   * @param profiled  the profiled JVM, the same process or a process below it
   */
  constructor(
    private readonly program: number,
    private readonly profiled: number,
  ) {
    this.#profiledCommand = readCommand(profiled).commandLine.join('\0')
    this.#look()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Main classes or jars of the further JVMs that were seen, or process ids, without repetitions, the last started JVM last. */
  get names(): (string | number)[] {
    const all = [...this.#names].map(([pid, name]) => name ?? pid)
    return [...new Set(all.reverse())].reverse()
  }

  #look(): void {
    const begun = performance.now()
    this.#lookBelow(this.program)
    const rest = Math.max(LOOK_INTERVAL_MS, REST_FACTOR * (performance.now() - begun))
    this.#timer = setTimeout(() => this.#look(), rest).unref()
  }

  #lookBelow(pid: number): void {
    if (pid !== this.profiled && (this.#names.get(pid) ?? null) === null) {
      const { commandLine, executable } = readCommand(pid)
      // Between fork and exec, a process has the command line of its parent.
      const isOther = commandLine.join('\0') !== this.#profiledCommand
      if (isOther && isJavaLauncher(executable, commandLine)) {
        this.#names.set(pid, mainClassOf(undefined, commandLine) ?? null)
      }
    }
    for (const child of childrenOf(pid)) this.#lookBelow(child)
  }
}
