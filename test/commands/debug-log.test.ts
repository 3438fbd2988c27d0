// JFLUID_DEBUG on the command line, where no JVM is needed.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'

async function ps(env: Record<string, string>, ...args: string[]) {
  const cwd = temporaryDirectory('jfluid-debug-')
  const p = startProcess(process.execPath, [cli, ...args], { cwd, env })
  const { code } = await p.exit
  return { cwd, pid: p.pid, code, stdout: p.stdout(), stderr: p.stderr(), files: readdirSync(cwd) }
}

describe('the environment variable JFLUID_DEBUG', () => {
  it('JFLUID_DEBUG creates the log in the current folder and prints its name', async () => {
    const { cwd, pid, code, stderr, files } = await ps({ JFLUID_DEBUG: 'attach,end' }, 'ps')
    const name = `jfluid-debug-${pid}.log`
    expect([code, stderr, files]).toEqual([0, `jfluid: debug log in ${name}\n`, [name]])
    expect(statSync(join(cwd, name)).mode & 0o777).toBe(0o600)
    const [first, last, ...rest] = readFileSync(join(cwd, name), 'utf8').split('\n')
    expect(first).toMatch(/^ +\d+\.\d{3} {2}jfluid {4}jfluid [\d.]+ ps, process \d+, Node\.js v\d+\./)
    expect(last).toMatch(/^ +\d+\.\d{3} {2}jfluid {4}ends with 0$/)
    expect(rest).toEqual([''])
  })

  it('an unknown topic in JFLUID_DEBUG exits with 64 and lists the valid topics', async () => {
    expect(await ps({ JFLUID_DEBUG: 'wire,reveall' }, 'ps')).toMatchObject({
      code: 64,
      stdout: '',
      stderr:
        "jfluid: JFLUID_DEBUG has no topic 'reveall'\n" +
        '  Set JFLUID_DEBUG to all, or to topics separated by commas: attach, wire, reveal, redefine, recorder, remote, push, end.\n',
      files: [],
    })
  })

  it('a debug log that cannot be created exits with 73 before the command runs', async () => {
    const env = { JFLUID_DEBUG: 'all', JFLUID_DEBUG_DIR: '/proc' }
    const { pid, ...rest } = await ps(env, 'ps')
    expect(rest).toMatchObject({ code: 73, stdout: '', files: [] })
    expect(rest.stderr).toContain(`the debug log /proc/jfluid-debug-${pid}.log cannot be created (ENOENT)`)
  })

  it('shell completion creates no debug log', async () => {
    expect(await ps({ JFLUID_DEBUG: 'all' }, '__complete', 'rec')).toMatchObject({ code: 0, files: [] })
  })

  it('the debug log states why a command failed and omits program arguments', async () => {
    const program = ['no-such-program', '-Dmy.key=hunter2', 'hunter2']
    const { cwd, pid, code, files } = await ps(
      { JFLUID_DEBUG: 'all' },
      'run',
      '--root',
      'Main.main',
      '--record',
      'p',
      '--',
      ...program,
    )
    expect([code, files]).toEqual([66, [`jfluid-debug-${pid}.log`]])
    const log = readFileSync(join(cwd, `jfluid-debug-${pid}.log`), 'utf8')
    expect(log).toMatch(/jfluid {4}\w+: .*no-such-program/)
    expect(log).toMatch(/jfluid {4}ends with 66\n$/)
    expect(log).not.toContain('hunter2')
  })
})
