// Options that can be combined with --jdwp, checked before jfluid accesses a JVM.

import { expect, it } from 'vitest'
import { doctor } from '../../src/commands/doctor.ts'
import { run } from '../../src/commands/run.ts'
import { checkJdwp, JdwpOrPid, wayIn } from '../../src/commands/way-in.ts'
import { isSampledByJvm } from '../../src/commands/whole-jvm-options.ts'
import { checkNotSampled, checkOwnOptions } from '../../src/options/refusals.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const jdwp = { host: '127.0.0.1', port: 5005 }
const plain: SessionFlags = { scheme: 'b' }
const root = { ...plain, root: ['a.B.c'] }

function check(flags: SessionFlags): void {
  checkOwnOptions('attach', { ...flags, jdwp })
  if (isSampledByJvm(flags)) checkNotSampled('attach', { ...flags, jdwp })
}

it('record --jdwp accepts roots and regions', () => {
  expect(() => check(root)).not.toThrow()
  expect(() => check({ ...plain, region: ['a.B.c'] })).not.toThrow()
  expect(() => check({ ...root, mode: 'sample', every: '100bc' })).not.toThrow()
  expect(() => checkJdwp('4711', {})).not.toThrow()
  expect(() => checkJdwp(undefined, { jdwp })).not.toThrow()
})

it('--jdwp refuses a process id and options that need an attach', () => {
  expect(() => checkJdwp('4711', { jdwp })).toThrow("--jdwp cannot be combined with '4711': both name a JVM")
  expect(() => check(plain)).toThrow('choosing one works only with a process id')
  for (const samples of [
    { ...plain, mode: 'sample' as const },
    { ...root, mode: 'sample' as const, sampler: 'jfr' as const },
    { ...root, mode: 'sample' as const, every: '1ms' },
  ]) {
    expect(() => check(samples)).toThrow('works only with a process id')
  }
})

it('doctor --jdwp refuses a process id', async () => {
  await expect(doctor('4711', { jdwp }, () => {})).rejects.toThrow(JdwpOrPid)
})

it('with --jdwp, messages and file names contain host and port of the JVM', async () => {
  expect(await wayIn(undefined, { jdwp })).toMatchObject({ name: '127.0.0.1:5005', number: 5005 })
  expect(await wayIn(undefined, { jdwp: { host: '::1', port: 1 } })).toMatchObject({ name: '[::1]:1' })
})

it('run --jvm is refused with sampling by time, before the command starts', async () => {
  await expect(run(['no-such-command'], { scheme: 'b', mode: 'sample', jvm: 'surefire*' })).rejects.toThrow(
    '--jvm needs a root: with sampling by time, the first JVM of the command is sampled',
  )
})
