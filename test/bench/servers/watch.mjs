// Resource use of a server and of the processes around it, measured from outside: the JVM's own counters in its shared file, and /proc. No
// request is sent to the JVM.

import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { load } from '../support.mjs'
import { statOf } from './processes.mjs'

const { parsePerfData } = await load('attach/hsperfdata.js')

/** Interval of the counters. Two pauses within one interval are reported as their sum. */
const COUNTERS_MS = 50
const PROCESSES_MS = 500
const USER_TICK_MS = 10
const UTIME = 11
const STIME = 12

/**
 * @typedef {object} Counters
 * @property {number} at  epoch ms
 * @property {number} safepoints
 * @property {number} safepointMs  total time of safepoints
 * @property {number} metaspaceKb  used
 * @property {number} classes  loaded
 * @typedef {{cpuMs: number, rssMb: number}} Usage
 * @typedef {object} Processes
 * @property {number} at  epoch ms
 * @property {number} machineMs  processor time of everything on this machine
 * @property {Usage | null} target
 * @property {Usage | null} load
 * @property {Usage | null} client
 */

export class Watch {
  /** @type {Counters[]} */
  counters = []
  /** @type {Processes[]} */
  processes = []
  /** Process id of the client while it runs. */
  client = null
  #pid
  #file
  #offsets
  #perMs
  #bytes
  #timers

  constructor(pid, loadPid) {
    this.#pid = pid
    const path = perfDataOf(pid)
    this.#bytes = readFileSync(path)
    const { values, offsets } = parsePerfData(this.#bytes)
    this.#offsets = offsets
    this.#perMs = Number(values.get('sun.os.hrt.frequency')) / 1000
    this.#file = openSync(path, 'r')
    this.#timers = [
      setInterval(() => this.counters.push(this.now()), COUNTERS_MS),
      setInterval(() => this.processes.push(this.#processes(loadPid)), PROCESSES_MS),
    ]
  }

  /** @returns {Counters} current counters; the last known counters if the JVM has ended */
  now() {
    readSync(this.#file, this.#bytes, 0, this.#bytes.length, 0)
    const long = (name) => Number(this.#bytes.readBigInt64LE(this.#offsets.get(name)))
    return {
      at: Date.now(),
      safepoints: long('sun.rt.safepoints'),
      safepointMs: long('sun.rt.safepointTime') / this.#perMs,
      metaspaceKb: Math.round(long('sun.gc.metaspace.used') / 1024),
      classes: long('java.cls.loadedClasses'),
    }
  }

  #processes(loadPid) {
    const client = this.client === null ? null : usage(this.client)
    return {
      ...{ at: Date.now(), machineMs: machineMs() },
      ...{ target: usage(this.#pid), load: usage(loadPid), client },
    }
  }

  stop() {
    for (const timer of this.#timers) clearInterval(timer)
    closeSync(this.#file)
  }
}

function perfDataOf(pid) {
  for (const name of readdirSync('/tmp')) {
    if (!name.startsWith('hsperfdata_')) continue
    const folder = join('/tmp', name)
    if (readdirSync(folder).includes(String(pid))) return join(folder, String(pid))
  }
  throw new Error(`JVM ${pid} shares no counters in /tmp/hsperfdata_*`)
}

/** @returns {Usage | null} null if the process does not exist */
function usage(pid) {
  const stat = statOf(pid)
  if (stat === null) return null
  const rss = /^VmRSS:\s+(\d+)/m.exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? '0'
  return {
    cpuMs: (Number(stat[UTIME]) + Number(stat[STIME])) * USER_TICK_MS,
    rssMb: Math.round(Number(rss) / 1024),
  }
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Returns the sum of user, nice, system, irq, softirq and steal time: other virtual machines have used the stolen time. */
function machineMs() {
  const [, user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)
  return [user, nice, system, irq, softirq, steal].reduce((sum, it) => sum + Number(it) * USER_TICK_MS, 0)
}
