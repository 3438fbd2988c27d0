import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AttachError } from '../../src/attach/admission.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { startProcess } from '../support/java-process.ts'

/** Returns the refusal of an attach that must fail. */
async function refusal(pid: number, timeoutMs = 5000): Promise<AttachError> {
  try {
    await openAttachSocket(pid, { timeoutMs })
  } catch (problem) {
    return problem as AttachError
  }
  throw new Error(`process ${pid} was attached to`)
}

describe('processes that are not JVMs', () => {
  it('a program that is not a JVM gets no signal', async () => {
    const sleeper = startProcess('sleep', ['60'])
    const problem = await refusal(sleeper.pid)
    assert.equal(`${problem.name} ${problem.exitCode}`, 'NotJvm 69')
    assert.match(problem.message, /^cannot attach to \d+: \S*\/(sleep|coreutils|busybox) is not a JVM$/)
    assert.equal(sleeper.child.exitCode, null)
  })

  it.each([0, -1, 1.5, Number.NaN, 2 ** 22 + 1])('process id %d is reported as missing', async (pid) => {
    const problem = await refusal(pid)
    assert.equal(`${problem.name} ${problem.exitCode}`, 'NoSuchProcess 68')
    assert.equal(problem.message, `cannot attach to ${pid}: no such process`)
  })
})
