// Times, compared with a program that measures itself (fix.KnownTimes). The time charged to a method must lie between the values measured
// inside the method and by its caller, which does not depend on the load of the machine.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  command,
  expectBetween,
  finished,
  nodeAt,
  type Phase,
  phases,
  recorded,
  started,
  sum,
} from './times-program.ts'

/** Returns whether the kernel uses the processor's time stamp counter as its clock. */
function countsTime(): boolean {
  const source = '/sys/devices/system/clocksource/clocksource0/current_clocksource'
  if (process.arch !== 'x64' || !existsSync(source)) return false
  const flags = readFileSync('/proc/cpuinfo', 'latin1').match(/^flags\s*:(.*)$/m)?.[1] ?? ''
  return (
    readFileSync(source, 'latin1').trim() === 'tsc' &&
    ['constant_tsc', 'nonstop_tsc'].every((it) => flags.split(' ').includes(it))
  )
}

describe.each(newestOrAll)('recorded times on JDK $version', (jdk) => {
  it('the recorded time of a busy method equals the time that the method measures, in one thread and in two threads', async () => {
    const java = await started(jdk)
    const recording = await recorded(java)
    await command(java, 'spin 0 2') // a first call stops other threads, which must not happen during the measurement
    await command(java, 'spin 200 1')
    await command(java, 'spin 100 2')
    const profile = await finished(recording)
    const all = phases(java, 'spin')
    const inside = (it: Phase): number => it.inside
    const { clock, clockMHz, readNs } = profile.calibration
    // If the system refuses executable memory, another clock is used.
    if (clock === 'rdtsc')
      expect([jdk.version >= 21 && jdk.version <= 27, countsTime()]).toEqual([true, true])
    // If counterTime counted nanoseconds, it would be the same as System.nanoTime().
    if (clock === 'counterTime') expect(Math.abs(clockMHz! - 1000)).toBeGreaterThan(10)
    else if (clock === 'rdtsc') expect(clockMHz).toBeGreaterThan(100)
    else expect([clock, clockMHz]).toEqual(['nanoTime', undefined])
    expect(readNs).toBeGreaterThan(1)
    expect(all).toHaveLength(5)
    expect(sum(all, inside)).toBeGreaterThanOrEqual(400e6)
    const spin = nodeAt(profile.merged, 'task', 'spin')
    expect(spin.calls).toBe(5)
    expectBetween(
      spin.selfNs,
      sum(all, inside),
      sum(all, (it) => it.around),
    )
    // Compares the time of each thread. Threads of the same name run one after the other.
    const threads = [...profile.threads].sort((a, b) => a.id - b.id)
    const named = (name: string) => threads.filter((it) => it.name === name)
    expect(threads.map(({ name }) => name).sort()).toEqual(all.map(({ thread }) => thread).sort())
    for (const [i, { thread, inside, around }] of all.entries()) {
      const nth = all.slice(0, i).filter((it) => it.thread === thread).length
      expectBetween(nodeAt(named(thread)[nth]!.roots, 'task', 'spin').selfNs, inside, around)
    }
  })

  it('the time of a method includes the time in which its thread is blocked', async () => {
    const java = await started(jdk)
    const recording = await recorded(java)
    const ways = { sleep: 'sleep', wait: 'await', lock: 'lock' }
    for (const name of Object.keys(ways)) await command(java, `${name} 150`)
    const profile = await finished(recording)
    for (const [name, method] of Object.entries(ways)) {
      const [phase] = phases(java, name)
      expect(phase.inside, name).toBeGreaterThan(100e6)
      expectBetween(nodeAt(profile.merged, 'task', method).selfNs, phase.inside, phase.around)
    }
  })

  it('pauses of redefinitions are excluded from times, and the time until the last redefinition has taken effect is reported as warm-up', async () => {
    const log = join(temporaryDirectory(), 'safepoints.log')
    const java = await started(jdk, `-Xlog:safepoint:file=${log}:timenanos`)
    const recording = await recorded(java, '--root', 'fix.KnownTimes.steps')
    const recordingAt = performance.now()
    await command(java, 'spin 200')
    const redefiningAt = performance.now()
    await command(java, 'steps') // one redefinition per step
    const redefinedAt = performance.now()
    // It is unknown which of these calls begins after the warm-up. The last call does.
    for (let i = 0; i < 20; i++) await command(java, 'spin 50')
    const overAt = performance.now()
    const profile = await finished(recording)

    // The client's clock starts before the client prints "recording", and the client receives the time of a redefinition after the
    // redefinition.
    expect(profile.instrumentation.redefinitions).toBeGreaterThanOrEqual(40)
    expect(profile.warmupMs).toBeGreaterThan(redefiningAt - recordingAt)
    expect(profile.warmupMs).toBeLessThan(profile.durationMs - (overAt - redefinedAt) / 2)

    const chain = Array.from({ length: 40 }, (_, i) => `s${String(i).padStart(2, '0')}`)
    for (let depth = 1; depth <= chain.length; depth++) {
      const path = chain.slice(0, depth).flatMap((step) => ['call', step])
      expect(nodeAt(profile.merged, 'steps', ...path).warmupCalls).toBe(1)
    }
    const spins = phases(java, 'spin')
    const spin = nodeAt(profile.merged, 'task', 'spin')
    expect([spins.length, spin.calls]).toEqual([21, 21])
    expect(spin.warmupCalls).toBeGreaterThanOrEqual(1)
    expect(spin.warmupCalls).toBeLessThan(21)
    const [first, last] = [spins[0].inside, spins[20].inside]
    expect(spin.warmupSelfNs).toBeGreaterThan(first * 0.999 - 50_000)
    expect(spin.warmupSelfNs).toBeLessThan(spin.selfNs - last * 0.999 + 50_000)

    // The thread in spinUntilOver was busy during the redefinitions. The JVM's safepoint log has the pauses, on the clock that the program
    // reads.
    const [phase] = phases(java, 'steps')
    const pauses = safepoints(log).filter((it) => it.end - it.ns >= phase.from && it.end <= phase.to)
    const redefining = pauses.filter((it) => it.name.includes('RedefineClasses'))
    expect(redefining.length).toBeGreaterThanOrEqual(30)
    const node = nodeAt(profile.merged, 'task', 'spinUntilOver')
    // At least half of the redefinition pauses, and at most twice the time of all safepoints, must be excluded. The thread may run until the
    // safepoint is reached, which takes long on a busy machine.
    expect(node.selfNs).toBeLessThan(phase.around - sum(redefining, (it) => it.stoppedNs) / 2)
    expect(node.selfNs).toBeGreaterThan(phase.inside - sum(pauses, (it) => it.ns) * 2)
  })
})

/**
 * Parses the output of `-Xlog:safepoint`: the end of each safepoint by System.nanoTime(), its duration, and the part of it in which all
 * threads were stopped.
 */
function safepoints(log: string): { name: string; end: number; ns: number; stoppedNs: number }[] {
  const line = /^\[(\d+)ns\].*Safepoint "(\w+)".*At safepoint: +(\d+) ns.*Total: +(\d+) ns/gm
  return [...readFileSync(log, 'utf8').matchAll(line)].map(([, end, name, stoppedNs, ns]) => ({
    name,
    end: Number(end),
    ns: Number(ns),
    stoppedNs: Number(stoppedNs),
  }))
}
