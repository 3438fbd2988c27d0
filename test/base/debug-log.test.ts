// The log of JFLUID_DEBUG: topics, lines, hidden secrets, and a log that cannot be written.

import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { some } from '../../src/base/debug.ts'
import { lineOf, redacted, topicsOf, UnknownDebugTopic } from '../../src/base/debug-log.ts'
import { newToken } from '../../src/wire/link.ts'

describe('topics of the debug log', () => {
  it('JFLUID_DEBUG lists topics separated by commas; an empty value selects no topic, all selects every topic', () => {
    expect(topicsOf('wire,reveal')).toEqual(['wire', 'reveal'])
    expect(topicsOf(' Reveal , wire,,wire')).toEqual(['wire', 'reveal'])
    expect(topicsOf('')).toEqual([])
    expect(topicsOf('all')).toEqual(topicsOf('attach,wire,reveal,redefine,recorder,remote,push,end'))
    expect(topicsOf('wire,all')).toHaveLength(8)
  })

  it.each(['wires', 'constructor', 'all,1'])(
    'JFLUID_DEBUG=%s is refused with exit code 64 and a list of all topics, since it contains an unknown topic',
    (text) => {
      expect(() => topicsOf(text)).toThrow(UnknownDebugTopic)
      const error = new UnknownDebugTopic('wires')
      expect([error.message, error.exitCode]).toEqual(["JFLUID_DEBUG has no topic 'wires'", 64])
      expect(error.hint).toBe(
        'Set JFLUID_DEBUG to all, or to topics separated by commas: attach, wire, reveal, redefine, recorder, remote, push, end.',
      )
    },
  )
})

describe('a line of the debug log', () => {
  it('a line of the debug log has the time in milliseconds with three decimals, the topic, and the text', () => {
    expect(lineOf(1023.4821, 'wire', '→ #12 hello, 12 bytes')).toBe(
      '    1023.482  wire      → #12 hello, 12 bytes\n',
    )
  })

  it('a message in the debug log is one line without control characters, for any class name', () => {
    expect(lineOf(0, 'reveal', 'class a\nb\x1b[31m\u202ec\u2028')).toBe(
      '       0.000  reveal    class a\\u000ab\\u001b[31m\\u202ec\\u2028\n',
    )
  })

  it('a line of the debug log is cut after 2,048 characters and never shows a part of a secret', () => {
    expect(lineOf(0, 'wire', 'x '.repeat(3000))).toHaveLength(24 + 2048 + 2)
    // Hiding a secret shortens the line. The visible part may then contain the end of a token that begins before the end of the checked
    // text.
    const token = newToken()
    const text = `secret=${'x'.repeat(8160)} ${token}`
    expect(text.indexOf(token)).toBeLessThan(4 * 2048)
    expect(lineOf(0, 'wire', text)).toBe('       0.000  wire      secret=[hidden] …\n')
  })
})

describe('secrets in the debug log', () => {
  it.each([
    ['token=0123456789abcdef0123456789abcdef;x', 'token=[hidden];x'],
    ['peer 0123456789ABCDEF0123456789ABCDEF said', 'peer [hidden] said'],
    ['-Djavax.net.ssl.keyStorePassword=changeit -Da=b', '-Djavax.net.ssl.keyStorePassword=[hidden] -Da=b'],
    ['{"db.passwd": "a b", "n": 1}', '{"db.passwd": [hidden], "n": 1}'],
    ['JFLUID_PROXY_KEY=abc_def-123', 'JFLUID_PROXY_KEY=[hidden]'],
    ['Authorization: Bearer abcdefgh.ijkl', 'Authorization: [hidden] [hidden]'],
    ['it says Basic dXNlcjpwYXNz', 'it says Basic [hidden]'],
    ['at https://ann:secret@host:4040/a?sig=xyz#f', 'at https://[hidden]@host:4040/a?[hidden]#f'],
    ['ssh://deploy@shop7/Server', 'ssh://[hidden]@shop7/Server'],
  ])('the debug log hides the secret in: %s', (text, shown) => {
    expect(redacted(text)).toBe(shown)
  })

  it('the debug log does not hide names and numbers as if they were secrets', () => {
    const plain =
      'first call of com.acme.TokenStore.find(Ljava/lang/String;)V, 3.1 ms: 12 methods, build 6b82ed8a7463'
    expect(redacted(plain)).toBe(plain)
  })

  it('the debug log hides secrets within 0.5 s in a long text that is constructed to make the search slow', () => {
    const begun = performance.now()
    for (const text of ['token', '://', '?', 'a', '=', '"']) lineOf(0, 'wire', text.repeat(60_000))
    expect(performance.now() - begun).toBeLessThan(500)
  })
})

describe('the file of the debug log', () => {
  let dir: string
  let path: string

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'jfluid-debug-'))
    path = join(dir, `jfluid-debug-${process.pid}.log`)
    onTestFinished(() => rmSync(dir, { recursive: true }))
  })

  /** Begins the log, as in a process that has just started. */
  async function begin(topics: string | undefined, folder = dir) {
    vi.resetModules()
    const log = await import('../../src/base/debug-log.ts')
    const { debug } = await import('../../src/base/debug.ts')
    const begun = log.beginDebugLog({ JFLUID_DEBUG: topics, JFLUID_DEBUG_DIR: folder })
    const share = log.debugLogShare()
    let isOpen = share !== undefined
    const close = () => {
      if (isOpen) closeSync(share!.descriptor)
      isOpen = false
    }
    onTestFinished(close)
    return { ...log, debug, begun, share, close }
  }

  const lines = () =>
    readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.slice(14))

  it.each([undefined, '', ' , '])(
    'no debug log is created and no topic is selected if JFLUID_DEBUG is %j',
    async (topics) => {
      const { debug, begun } = await begin(topics)
      expect(begun).toBeNull()
      expect(debug).toEqual({})
      expect(existsSync(path)).toBe(false)
    },
  )

  it('the debug log is readable only by its owner for any umask, and has only the requested topics', async () => {
    const before = process.umask(0)
    const { debug, begun, debugLogProblem, noteInDebugLog } = await begin('wire,end').finally(() =>
      process.umask(before),
    )
    expect(begun).toBe(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    noteInDebugLog('record')
    debug.wire?.('hello')
    debug.reveal?.('never')
    debug.end?.('bye')
    expect(lines()).toEqual(['jfluid    record', 'wire      hello', 'end       bye', ''])
    expect(debugLogProblem()).toBeNull()
  })

  it('the debug log is created once, and other threads write to the same log with the same clock', async () => {
    const { beginDebugLog, debug, joinDebugLog, share } = await begin('wire')
    expect(beginDebugLog({ JFLUID_DEBUG: 'all', JFLUID_DEBUG_DIR: dir })).toBeNull()
    for (const topic of share!.topics) delete debug[topic]
    joinDebugLog(share!)
    debug.wire?.('from elsewhere')
    expect(lines()).toEqual(['wire      from elsewhere', ''])
    expect(Number.parseFloat(readFileSync(path, 'utf8'))).toBeLessThan(5_000)
  })

  it('if the debug log exists already, it is not changed, and the command ends with exit code 73', async () => {
    writeFileSync(path, 'of somebody')
    chmodSync(path, 0o644)
    await expect(begin('wire')).rejects.toMatchObject({
      message: `the debug log ${path} cannot be created (EEXIST)`,
      hint: 'Move the file away, or run jfluid in another directory: an earlier process with the same id created it.',
      exitCode: 73,
    })
    expect(readFileSync(path, 'utf8')).toBe('of somebody')
  })

  it('the debug log is not created through a symbolic link', async () => {
    symlinkSync(join(dir, 'victim'), path)
    await expect(begin('wire')).rejects.toMatchObject({ exitCode: 73 })
    expect(existsSync(join(dir, 'victim'))).toBe(false)
  })

  it('a missing folder for the debug log ends the command with exit code 73', async () => {
    await expect(begin('wire', join(dir, 'none'))).rejects.toMatchObject({
      hint: 'Run jfluid in a directory in which you may create files, or set JFLUID_DEBUG_DIR to one.',
      exitCode: 73,
    })
  })

  it('the debug log ends at 256 MiB with a message', async () => {
    const { debug, share, MAX_BYTES } = await begin('wire')
    debug.wire?.('one')
    share!.state[0] = MAX_BYTES - 10
    for (const text of ['two', 'three', 'four']) debug.wire?.(text)
    expect(lines()).toEqual(['wire      one', 'jfluid    the log ends here, at 256 MiB', ''])
  })

  it('if the debug log can no longer be written, the log ends and the session continues', async () => {
    const { debug, debugLogProblem, close } = await begin('wire')
    debug.wire?.('one')
    close()
    for (const text of ['two', 'three']) debug.wire?.(text)
    expect(debugLogProblem()).toBe('it could not be written (EBADF)')
    expect(lines()).toEqual(['wire      one', ''])
  })
})

it('the debug log shows the first items of a list', () => {
  expect(some([])).toBe('none')
  expect(some([1, 2, 3], (it) => `m${it}`)).toBe('m1, m2, m3')
  expect(some(Array.from({ length: 25 }, (_, i) => i))).toBe('0, 1, 2, 3, 4, 5, 6, 7 and 17 more')
})
