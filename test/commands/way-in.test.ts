// Options that can be combined with --jdwp, checked before jfluid accesses a JVM.

import { expect, it } from 'vitest'
import { doctor } from '../../src/commands/doctor.ts'
import { checkJdwp, JdwpOrPid, wayIn } from '../../src/commands/way-in.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const jdwp = { host: '127.0.0.1', port: 5005 }
const plain: SessionFlags = { scheme: 'b' }
const root = { ...plain, root: ['a.B.c'] }

it('--jdwp accepts roots and regions', () => {
  expect(() => checkJdwp(undefined, { ...root, jdwp })).not.toThrow()
  expect(() => checkJdwp(undefined, { ...plain, region: ['a.B.c'], jdwp })).not.toThrow()
  expect(() => checkJdwp(undefined, { ...root, mode: 'sample', every: '100bc', jdwp })).not.toThrow()
  expect(() => checkJdwp('4711', plain)).not.toThrow()
})

it('--jdwp refuses a process id and options that need an attach', () => {
  expect(() => checkJdwp('4711', { ...root, jdwp })).toThrow(
    "--jdwp cannot be combined with '4711': both name a JVM",
  )
  expect(() => checkJdwp(undefined, { ...plain, jdwp })).toThrow('choosing one works only with a process id')
  for (const samples of [
    { ...plain, mode: 'sample' as const },
    { ...root, mode: 'sample' as const, sampler: 'jfr' as const },
    { ...root, mode: 'sample' as const, every: '1ms' },
  ]) {
    expect(() => checkJdwp(undefined, { ...samples, jdwp })).toThrow('works only with a process id')
  }
})

it('doctor --jdwp refuses a process id', async () => {
  await expect(doctor('4711', { jdwp }, () => {})).rejects.toThrow(JdwpOrPid)
})

it('with --jdwp, messages and file names contain host and port of the JVM', async () => {
  expect(await wayIn(undefined, { jdwp })).toMatchObject({ name: '127.0.0.1:5005', number: 5005 })
  expect(await wayIn(undefined, { jdwp: { host: '::1', port: 1 } })).toMatchObject({ name: '[::1]:1' })
})
