// A Spring Boot service under load (test/bench/servers/desk.mjs), started with options of the JVM. The load is open: requests are sent on a
// schedule, and a latency counts from the scheduled time, so that each stop of the JVM shows in the latencies.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  latenciesIn,
  parseLoad,
  quantile,
  type Request,
  type Window,
  worstIn,
} from '../bench/servers/analysis.mjs'
import { type JavaProcess, startProcess } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

const DESK = fileURLToPath(new URL('../bench/servers/desk.mjs', import.meta.url))
/** Number of endpoints. Requests go to them in turn. */
const ENDPOINTS = 4
const STOCK = 1

export class LoadedService {
  readonly pid: number
  readonly #process: JavaProcess
  readonly #files: string

  private constructor(process: JavaProcess, started: string) {
    const [, pid, files] = /^process (\d+),.* files in (\S+)$/.exec(started)!
    this.#process = process
    this.pid = Number(pid)
    this.#files = files!
  }

  /**
   * @param perSecond  requests per second
   * @param jar        the service's jar; undefined for the built one
   */
  static async start(
    jdk: Jdk,
    options: readonly string[],
    perSecond: number,
    jar?: string,
  ): Promise<LoadedService> {
    const args = [DESK, '--jdk', `${jdk.version}`, '--rate', `${perSecond}`, '--clean']
    if (jar !== undefined) args.push('--jar', jar)
    const process_ = startProcess(process.execPath, [...args, '--jvm', options.join(' ')])
    return new LoadedService(process_, await process_.line(/^process \d+/))
  }

  /** Returns the answered requests, by their scheduled time. */
  requests(): Request[] {
    const found = parseLoad(readFileSync(join(this.#files, 'load.csv'), 'utf8'))
    return found.sort((a, b) => a.due - b.due)
  }

  /** Returns the requests that call `desk.StockController.stock`. Complete only after `end`, or for requests before a late answer. */
  stockRequests(): Request[] {
    return this.requests().filter((_, i) => i % ENDPOINTS === STOCK)
  }

  /** Returns requests that failed, or were answered by an error. */
  failed(): Request[] {
    return this.requests().filter(({ status }) => status === 0 || status >= 400)
  }

  p50(window: Window): number {
    return quantile(latenciesIn(this.requests(), window), 0.5)
  }

  worst(window: Window): number {
    return worstIn(this.requests(), window)
  }

  /** Returns what the service has written to its log. */
  log(): string {
    return readFileSync(join(this.#files, 'service.log'), 'utf8')
  }

  get runs(): boolean {
    return this.#process.child.exitCode === null
  }

  /** Ends the service and its load. The files are removed. */
  async end(): Promise<void> {
    this.#process.child.kill('SIGTERM')
    await this.#process.exit
  }
}
