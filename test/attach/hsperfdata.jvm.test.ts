import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { beforeAll, it } from 'vitest'
import { findPerfData } from '../../src/attach/hsperfdata.ts'
import { readTargetProcess } from '../../src/attach/target-process.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { WAITER } from './waiter.ts'

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, WAITER)
  })

  it('hsperfdata of a running JVM contains its version, command and attach capability', async () => {
    const java = startJava(jdk, ['-Xint', '-cp', classes, 'Waiter', 'some', 'arguments'])
    await java.line(/ready/)
    const target = readTargetProcess(java.pid)
    assert.ok(target !== undefined)
    const facts = findPerfData(target)?.facts
    assert.ok(facts !== undefined)
    assert.equal(facts.complete, true)
    assert.equal(facts.attachSupported, true)
    assert.equal(facts.javaVersion, jdk.full)
    assert.equal(facts.javaHome, jdk.home)
    assert.equal(facts.javaCommand, 'Waiter some arguments')
    assert.equal(facts.vmArguments, '-Xint')
    assert.match(facts.vmName ?? '', /OpenJDK .*VM/)
    assert.ok((facts.loadedClasses ?? 0) > 100)
    assert.ok((facts.safepointNs ?? -1) >= 0 && (facts.safepointNs ?? 1e12) < 10e9)
    assert.ok(Math.abs((facts.createdAt ?? 0) - target.startedAt) < 5000)
  })

  it.each(['-XX:-UsePerfData', '-XX:+PerfDisableSharedMem'])(
    'no hsperfdata is found for a JVM with %s',
    async (option) => {
      const java = startJava(jdk, [option, '-cp', classes, 'Waiter'])
      await java.line(/ready/)
      const target = readTargetProcess(java.pid)
      assert.ok(target !== undefined)
      assert.equal(findPerfData(target), undefined)
    },
  )
})

it('an hsperfdata file of an earlier process with the same process id is ignored', async () => {
  const classes = await compileJava(newest, WAITER)
  const earlier = startJava(newest, ['-cp', classes, 'Waiter'])
  const later = startJava(newest, ['-XX:-UsePerfData', '-cp', classes, 'Waiter'])
  await Promise.all([earlier.line(/ready/), later.line(/ready/)])
  const from = readTargetProcess(earlier.pid)
  const to = readTargetProcess(later.pid)
  assert.ok(from !== undefined && to !== undefined)
  const file = findPerfData(from)
  assert.ok(file !== undefined)
  const left = file.path.replace(/\d+$/, String(later.pid))
  try {
    writeFileSync(left, readFileSync(file.path))
    assert.equal(findPerfData(to), undefined)
  } finally {
    rmSync(left, { force: true })
  }
})
