import { describe, expect, it } from 'vitest'
import { TargetStopped } from '../../src/attach/admission.ts'
import { whileRunning } from '../../src/session/target-waits.ts'
import { startProcess, stop } from '../support/java-process.ts'

const never = new Promise<never>(() => {})

describe('work that needs a running target', () => {
  it('work that needs a running target is abandoned with a message if the target stays stopped for too long', async () => {
    const target = startProcess('cat', [])
    await stop(target)
    const told: string[] = []
    const work = whileRunning(
      target.pid,
      (it) => told.push(it),
      (onPhase) => {
        onPhase('calibrating')
        return never
      },
      300,
    )
    await expect(work).rejects.toThrow(TargetStopped)
    expect(told).toEqual(['calibrating', `waiting: JVM ${target.pid} is stopped (SIGSTOP)`])
  })

  it('work that needs a running target continues when the target continues', async () => {
    const target = startProcess('cat', [])
    await stop(target)
    const told: string[] = []
    let finish = (_: string): void => {}
    const work = whileRunning(
      target.pid,
      (phase) => {
        told.push(phase)
        if (/^waiting/.test(phase)) target.child.kill('SIGCONT')
        else if (told.length > 1) finish('done')
      },
      (onPhase) => {
        onPhase('calibrating')
        return new Promise<string>((resolve) => {
          finish = resolve
        })
      },
    )
    expect(await work).toBe('done')
    expect(told).toEqual(['calibrating', `waiting: JVM ${target.pid} is stopped (SIGSTOP)`, 'calibrating'])
  })
})
