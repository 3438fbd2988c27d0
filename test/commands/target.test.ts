import { expect, it } from 'vitest'
import type { Jvm } from '../../src/attach/jvms.ts'
import { jvmsNamed, NoPid, pidNamed, targetOf } from '../../src/commands/target.ts'
import { BadAddress, JvmElsewhere } from '../../src/remote/errors.ts'

const jvm = (pid: number, mainClass: string | undefined, attachable: true | string = true): Jvm => ({
  ...{ pid, user: 'shop', uid: 1, version: '25', vm: undefined, mainClass, command: mainClass },
  container: undefined,
  attachable,
  startedAt: 0,
})
const JVMS = [
  jvm(1, 'com.shop.Server'),
  jvm(2, 'com.shop.Server2'),
  jvm(3, 'org.Batch'),
  jvm(4, 'app.jar'),
  jvm(5, undefined),
  jvm(6, 'com.other.Batch'),
]

it.each([
  ['com.shop.Server', 1], // the full name of one JVM, although it is also a part of another name
  ['server', 1], // by its simple name
  ['Server2', 2],
  ['er2', 2],
  ['org.Batch', 3],
  ['app.jar', 4],
])('the target name %s selects JVM %i', (name, pid) => {
  expect(pidNamed(name, JVMS)).toBe(pid)
})

it('a target name that matches several JVMs is refused', () => {
  expect(() => pidNamed('Batch', JVMS)).toThrow("'Batch' matches 2 JVMs")
  expect(() => pidNamed('com.', JVMS)).toThrow("'com.' matches 3 JVMs")
  expect(() => pidNamed('nothing', JVMS)).toThrow("'nothing' is not a process id")
})

it.each([
  ['com.shop.*', [1, 2]],
  ['Server*', [1, 2]], // a pattern without a dot is compared with the simple name
  ['*.batch', [3, 6]],
  ['a*.jar', [4]],
  ['com.shop.Serve', [1, 2]], // a part of the names
  ['com.shop.Serve*r', [1]],
  ['Shop*', []],
  ['*', [1, 2, 3, 4, 6]],
])('the target pattern %s selects the JVMs %j', (pattern, pids) => {
  expect(jvmsNamed(pattern, JVMS).map((it) => it.pid)).toEqual(pids)
})

it('a number as the target is always a process id', async () => {
  expect(await targetOf('4711')).toBe(4711)
  await expect(targetOf('0')).rejects.toThrow("'0' is not a process id")
  await expect(targetOf('')).rejects.toThrow("'' is not a process id")
})

it.each([
  ['ssh://deploy@shop7:2222/4711', 'that machine (ssh -p 2222 deploy@shop7). Only attach'],
  ['tcp://shop7:7071/4711', 'that machine. Only attach'],
])('the target %s is refused as a JVM on another machine', async (address, hint) => {
  const error = await targetOf(address).catch((it: unknown) => it)
  expect(error).toBeInstanceOf(JvmElsewhere)
  expect((error as JvmElsewhere).message).toBe(
    `'${address}' is a JVM on another machine, and this command works only on this machine`,
  )
  expect((error as JvmElsewhere).hint).toContain(hint)
  await expect(targetOf('tcp://shop7/4711')).rejects.toBeInstanceOf(BadAddress)
})

it('the error for a missing process id lists the running JVMs', () => {
  expect(new NoPid(JVMS).hint).toContain('1 (com.shop.Server)')
  expect(new NoPid(JVMS).hint).toMatch(/, …$/)
  expect(new NoPid([jvm(1, 'a.B', 'belongs to uid 7')]).hint).toBe('List the running JVMs: jfluid ps')
})
