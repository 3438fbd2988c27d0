// A real native image: the compiler of the npm package google-closure-compiler-linux. It reads its standard input, so it runs until the end
// of the test. It does not catch SIGQUIT, so that signal would end it.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { cacheDirectory, cachedFile } from '../support/cache.ts'
import { inProcess } from '../support/in-process.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { jfluid } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'

const PACKAGE = 'google-closure-compiler-linux'
const VERSION = '20261015.0.0'
const SHA256 = 'c9349322259da691c6b3317bfd9861b7a6fec929d5541cdfbc8e28ccfeb4f290'

const run = promisify(execFile)

async function startCompiler(): Promise<JavaProcess> {
  const name = `${PACKAGE}-${VERSION}.tgz`
  const fetch = async (directory: string): Promise<string> => {
    await run('npm', ['pack', `${PACKAGE}@${VERSION}`, '--pack-destination', directory])
    return join(directory, name)
  }
  const archive = await cachedFile({ what: PACKAGE, name, sha256: SHA256, fetch }, cacheDirectory())
  const directory = temporaryDirectory('jfluid-native-')
  await run('tar', ['xzf', archive, '-C', directory])
  return startProcess(join(directory, 'package', 'compiler'), [])
}

itOnlyIf(process.arch === 'x64', 'the native image needs an x86-64 processor')(
  'each command that needs a JVM refuses a native image, says what it is and what to do, and does not disturb it',
  { timeout: 120_000 },
  async () => {
    const compiler = await startCompiler()
    const pid = `${compiler.pid}`
    const message = new RegExp(
      `cannot attach to ${pid}: \\S+/compiler is a GraalVM native image, which contains no JVM`,
    )
    const hint = `perf record -g -p ${pid}`
    const out = join(temporaryDirectory(), 'p.jfluid')
    const record = ['--root', 'a.B.c', '--duration', '1s', '--out', out]
    for (const args of [
      ['record', pid, ...record],
      ['record', pid, '--mode', 'sample', '--duration', '1s', '--out', out],
      ['why', pid],
      ['detach', pid],
    ]) {
      const { code, stdout, stderr } = await jfluid(...args)
      expect([code, stdout], `${args.join(' ')}: ${stderr}`).toEqual([69, ''])
      expect(stderr).toMatch(message)
      expect(stderr).toContain(hint)
    }
    const doctor = await jfluid('doctor', pid)
    expect(doctor.code).toBe(69)
    expect(doctor.stdout.replaceAll(/\s+/g, ' ')).toMatch(/PROBLEM attach .* native image, .* perf record/)
    const ps = await inProcess('ps')
    expect(ps.stdout).toMatch(new RegExp(`^${pid} .* no: native image .*compiler$`, 'm'))
    const listed = JSON.parse((await inProcess('ps', '--json')).stdout) as {
      jvms: { pid: number; vm?: string }[]
    }
    expect(listed.jvms.find((it) => it.pid === compiler.pid)).toMatchObject({ vm: 'GraalVM native image' })

    expect(compiler.stderr()).toMatch(/^(The compiler is waiting for input via stdin\.\n)?$/)
    expect([compiler.child.exitCode, compiler.child.signalCode]).toEqual([null, null])
    compiler.child.stdin!.end('var a = 1 + 1;\n')
    expect(await compiler.exit).toEqual({ code: 0, signal: null })
    expect(compiler.stdout()).toBe('var a=2;\n')
  },
)
