// A screen that keeps its contents as text, and a session with prepared answers.

import type { SlowWant } from '../../src/cct/slow-times.ts'
import type { Snapshot, ThreadTree, Tree } from '../../src/cct/tree.ts'
import { width } from '../../src/tui/format.ts'
import type { LiveSource, LiveStatus, RangeSource } from '../../src/tui/live-source.ts'
import type { Key, Line, Mouse, Screen } from '../../src/tui/screen.ts'
import type { Methods } from '../profile/trees.ts'

export class FakeScreen implements Screen {
  readonly unicode: boolean
  columns: number
  rows: number
  lines: readonly Line[] = []
  suspended = 0
  readonly copied: string[] = []
  #key: ((key: Key) => void) | undefined
  #mouse: ((mouse: Mouse) => void) | undefined
  #resize: (() => void) | undefined
  #signal: ((signal: NodeJS.Signals) => void) | undefined

  constructor(columns: number, rows: number, unicode = true) {
    this.columns = columns
    this.rows = rows
    this.unicode = unicode
  }

  draw(lines: readonly Line[]): void {
    this.lines = lines
  }
  onKey(listener: (key: Key) => void): void {
    this.#key = listener
  }
  onMouse(listener: (mouse: Mouse) => void): void {
    this.#mouse = listener
  }
  onResize(listener: () => void): void {
    this.#resize = listener
  }
  onSignal(listener: (signal: NodeJS.Signals) => void): void {
    this.#signal = listener
  }
  copy(text: string): void {
    this.copied.push(text)
  }
  suspend(): void {
    this.suspended++
  }
  destroy(): void {}

  /** Presses keys: names separated by spaces. */
  press(keys: string): void {
    for (const name of keys.split(' ')) this.#key!({ name })
  }
  mouse(kind: Mouse['kind'], column: number, row: number): void {
    this.#mouse!({ kind, column, row })
  }
  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.#resize!()
  }
  signal(signal: NodeJS.Signals): void {
    this.#signal!(signal)
  }

  /** Returns the screen as text, without blanks at the ends of lines. */
  get text(): string {
    return this.lines.map((line) => textOf(line).trimEnd()).join('\n')
  }

  /** Returns the number of cells of the longest line. */
  get widest(): number {
    return Math.max(...this.lines.map((line) => width(textOf(line))))
  }

  /** Returns the text that has this style. Pieces are separated by "|". */
  styled(style: string): string {
    const pieces = this.lines.flatMap((line) => line.filter((run) => run.style === style))
    return pieces.map((run) => run.text.trim()).join('|')
  }
}

function textOf(line: Line): string {
  return line.map((run) => run.text).join('')
}

export class FakeSource implements LiveSource {
  readonly methods: Methods
  tree: Tree
  threads: readonly ThreadTree[] = []
  snapshots = 0
  /** The latest request for slow calls, and the number of requests to keep them. */
  wanted: SlowWant | undefined
  kept = 0
  ranges?: RangeSource
  /** Additional members of snapshots. */
  more: Partial<Snapshot> = {}
  resets = 0
  failure: Error | undefined
  facts: Partial<LiveStatus> = {}
  readonly ended: Promise<string>
  end!: (reason: string) => void

  constructor(methods: Methods, tree: Tree) {
    this.methods = methods
    this.tree = tree
    this.ended = new Promise((resolve) => {
      this.end = resolve
    })
  }

  async snapshot(perThread: boolean, slow?: SlowWant): Promise<Snapshot> {
    this.snapshots++
    this.wanted = slow
    if (this.failure) throw this.failure
    const threads = perThread ? this.threads : []
    return { merged: this.tree, threads, events: 100, waitNs: 0, healed: 0, ...this.more }
  }

  methodName(id: number) {
    return this.methods.names[id]!
  }

  status(): LiveStatus {
    return {
      pid: 4711,
      mode: 'exact',
      mainClass: 'com.acme.demo.OrderServer',
      jdk: '17.0.15',
      scheme: 'b',
      roots: ['com.acme.OrderService.process'],
      instrumentedMethods: 1312,
      calledMethods: 240,
      events: 5_000_000,
      eventsPerSecond: 1_234_567,
      waitPercent: 0.34,
      elapsedMs: 12_340,
      phase: 'recording',
      warnings: [],
      ...this.facts,
    }
  }

  keepSlow(): void {
    this.kept++
  }

  reset(): void {
    this.resets++
  }
}
