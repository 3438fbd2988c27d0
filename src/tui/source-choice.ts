// The method whose source lines are shown, and the data read for it.

import type { MethodName } from '../cct/tree.ts'
import type { SourceText } from '../profile/source-folders.ts'
import type { MethodPlace } from '../profile/source-lines.ts'
import { clean } from './format.ts'
import { run } from './frame-lines.ts'
import type { LiveSource, LiveStatus } from './live-source.ts'
import { type SourcePage, sourcePage } from './source-page.ts'

/** Part of LiveSource that the page needs. */
export type LineSource = Pick<LiveSource, 'linesOf' | 'placeOf' | 'sources' | 'status'>

export class SourceChoice {
  readonly #from: LineSource
  readonly #id: number
  readonly #name: MethodName
  #read: { readonly place: MethodPlace | null; readonly text: SourceText | null } | undefined
  /** Path of a source file that was not read, since it is outside of the folders. */
  #refused: string | undefined

  constructor(from: LineSource, id: number, name: MethodName) {
    this.#from = from
    this.#id = id
    this.#name = name
  }

  /** Reads the place of the method and its source file. @param tell  receives the reason if the class file cannot be read */
  async read(tell: (problem: unknown) => void): Promise<void> {
    const { placeOf, sources } = this.#from
    const place =
      (await placeOf?.(this.#id).catch((problem: unknown) => {
        tell(problem)
        return null
      })) ?? null
    const refuse = (path: string): void => {
      this.#refused ??= path
    }
    const text = (await sources?.find(this.#name.class, place?.file ?? undefined, refuse)) ?? null
    this.#read = { place, text }
  }

  /** Returns the page. The shares on the page are computed from the current samples. */
  page(columns: number): SourcePage {
    const { linesOf } = this.#from
    if (this.#read === undefined)
      return { lines: [[run('  Reading the source ...')]], hottest: 0, warning: null }
    const status = this.#from.status()
    return sourcePage(
      {
        name: this.#name,
        ...this.#read,
        whyNoText: this.#whyNoText,
        samples: linesOf?.(this.#id),
        whyNoLines: whyNoLines(status, linesOf !== undefined, linesOf?.(this.#id) !== undefined),
        since: status.codeSince,
      },
      columns,
    )
  }

  get #whyNoText(): string {
    const { sources } = this.#from
    if (sources === undefined) return 'Use --source <folder> to see the text of these lines.'
    return this.#refused !== undefined
      ? `${clean(this.#refused)} was not read: it leads to a file outside of the folder.`
      : `No source file of ${clean(this.#name.class)} in ${sources.folders.map(clean).join(', ')}.`
  }
}

/** Returns the reason why the lines of a method have no shares. */
function whyNoLines({ jvms, phase, remote }: LiveStatus, areKept: boolean, isSampled: boolean): string {
  if (isSampled) return 'no shares: its samples have no line numbers'
  if (areKept) return 'no shares: no sample contains this method'
  if (phase === 'file') return 'no shares: this file has no samples with lines'
  if (jvms !== undefined) return 'no shares while several JVMs are profiled'
  if (remote !== undefined) return 'no shares for a JVM on another machine'
  return 'no shares: they need samples (--scheme adaptive or --mode sample)'
}
