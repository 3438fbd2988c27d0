import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import {
  AgentNotLoaded,
  ArgumentRefused,
  AttachProtocolError,
  agentLoadProblem,
  attachCommand,
  type CommandOptions,
  CommandTimeout,
  decodeReply,
  encodeRequest,
  encodeUnstreamed,
  loadAgent,
  parseProperties,
} from '../../src/attach/command.ts'
import { readTargetProcess } from '../../src/attach/target-process.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'

describe('an attach request', () => {
  const written = (operation: string, ...args: string[]) => encodeRequest(operation, args).toString()

  it('an attach request has three arguments, each ended by NUL', () => {
    assert.equal(written('agentProperties'), '1\0agentProperties\0\0\0\0')
    assert.equal(written('load', 'instrument', 'false', 'a.jar='), '1\0load\0instrument\0false\0a.jar=\0')
  })

  it('an argument of an attach request is limited to 1,024 bytes, not characters', () => {
    // version 2 bytes, name 5, argument 1,025, two empty arguments 2
    assert.equal(written('jcmd', 'x'.repeat(1024)).length, 2 + 5 + 1025 + 2)
    assert.throws(() => written('jcmd', 'x'.repeat(1025)), {
      message: 'attach command jcmd: argument 1 has 1025 bytes, the limit is 1024',
      exitCode: 64,
    })
    assert.throws(() => written('jcmd', 'ü'.repeat(513)), ArgumentRefused)
  })

  it('an attach request with four arguments, a long operation name or a NUL is refused', () => {
    assert.throws(() => written('a', '1', '2', '3', '4'), ArgumentRefused)
    assert.throws(() => written('abcdefghijklmnopq'), /has 17 bytes, the limit is 16/)
    assert.throws(() => written('a', 'b\0c'), ArgumentRefused)
  })
})

it('an attach request of version 2 contains the byte length of its words, and asks the JVM not to stream the reply', () => {
  assert.equal(encodeUnstreamed('threaddump', ['-e']).toString(), '2\0' + '26\0threaddump streaming=0\0-e\0')
})

describe('the reply to an attach request', () => {
  const read = (text: string) => decodeReply('x', Buffer.from(text))

  it('a reply to an attach request consists of a code, a line feed and text', () => {
    assert.deepEqual(
      { ...read('0\na\nb\n'), bytes: undefined },
      { code: 0, text: 'a\nb\n', bytes: undefined },
    )
    assert.equal(read('-1\n').code, -1)
    assert.equal(read('101\n').text, '')
    assert.equal(read('101').code, 101)
  })

  it.each(['', '\n', 'HTTP/1.1 400 Bad Request\r\n', '1.5\n', '99999999999\n'])(
    'the attach reply %j is refused as malformed',
    (text) => {
      assert.throws(() => read(text), AttachProtocolError)
    },
  )
})

describe('the reply to the request that loads an agent', () => {
  it.each<[string, number, string, string]>([
    ['success on JDK 9 and newer', 0, 'return code: 0\n', 'loaded'],
    ['success on JDK 8', 0, '0\n', 'loaded'],
    ['missing jar', 0, 'return code: 100\n', 'AgentJarRefused 69'],
    [
      'a class loader without appendToClassPathForInstrumentation',
      0,
      'return code: 101\n',
      'AgentNotOnClassPath 69',
    ],
    ['an exception in agentmain', 0, 'return code: 102\n', 'AgentStartFailed 70'],
    ['lack of memory', 0, 'return code: -4\n', 'AgentNotLoaded 69'],
    [
      'dynamic agent loading disabled, on JDK 17',
      -1,
      'Dynamic agent loading is not enabled. Use …',
      'DynamicLoadingDisabled 78',
    ],
    [
      'dynamic agent loading disabled, on JDK 25',
      0,
      'Dynamic agent loading is not enabled. Use …\n',
      'DynamicLoadingDisabled 78',
    ],
    [
      'missing module java.instrument',
      -1,
      'java.lang.module.FindException: Module java.instrument not found',
      'InstrumentModuleMissing 69',
    ],
    ['missing library libinstrument', 0, 'instrument was not loaded.\n', 'InstrumentModuleMissing 69'],
    ['empty reply', 0, '', 'AgentNotLoaded 69'],
    ['failure with a number as text', -1, '0', 'AgentNotLoaded 69'],
  ])('the reply to the load request is interpreted: %s', (_, code, text, expected) => {
    const problem = agentLoadProblem(1, '/a.jar', { code, text })
    assert.equal(problem === undefined ? 'loaded' : `${problem.name} ${problem.exitCode}`, expected)
  })
})

describe('a properties file of java.util.Properties', () => {
  it('comments, separators, escapes and continued lines of a properties file are read', () => {
    const text = [
      '#Sat Nov 21 07:26:56 UTC 2026',
      '  ! also a comment',
      'plain=value',
      'path=C\\:\\\\tmp',
      'key\\ with\\=both = v = w ',
      'colon: x',
      'blank y',
      'empty=',
      'alone',
      'lines=one\\',
      '   two',
      'ends\\\\',
      'unicode=\\u00fc\\uD83D\\uDE00',
      'control=\\t\\n\\r\\f\\q',
      '',
    ].join('\r\n')
    assert.deepEqual(Object.fromEntries(parseProperties(text)), {
      plain: 'value',
      path: 'C:\\tmp',
      'key with=both': 'v = w ',
      colon: 'x',
      blank: 'y',
      empty: '',
      alone: '',
      lines: 'onetwo',
      'ends\\': '',
      unicode: 'ü😀',
      control: '\t\n\r\fq',
    })
  })
})

describe('an attach socket whose server fails or is not a JVM', () => {
  /** Returns the path of a socket whose connections are handled by `serve`. */
  async function serverOf(serve: (socket: Socket) => void): Promise<string> {
    const path = join(temporaryDirectory(), 'socket')
    const server = createServer((socket) => serve(socket.on('error', () => {}))).listen(path)
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    return path
  }

  /** Loads an agent through that socket; this process plays the JVM. */
  async function loadThrough(socketPath: string, limits?: CommandOptions, pid = process.pid): Promise<void> {
    const target = readTargetProcess(pid)
    assert.ok(target !== undefined)
    const connection = { pid, socketPath, target, signalled: false, firstContactMs: 0 }
    await loadAgent(connection, '/a.jar', '', limits)
  }

  it('a process that closes its socket shortly before it exits is reported as ended', async () => {
    const ending = startProcess('cat', [])
    const path = await serverOf((socket) => {
      socket.destroy()
      setTimeout(() => ending.child.stdin?.end(), 200)
    })
    await assert.rejects(loadThrough(path, {}, ending.pid), {
      message: `cannot attach to ${ending.pid}: the process has ended`,
    })
  })

  it('an attach socket that does not reply is reported as a timeout', async () => {
    const path = await serverOf((socket) => setTimeout(() => socket.destroy(), 500))
    await assert.rejects(attachCommand(path, 'load', [], { timeoutMs: 50 }), (problem) => {
      assert.ok(problem instanceof CommandTimeout)
      assert.equal(problem.message, 'attach command load: no answer within 50 ms')
      return true
    })
  })

  it('the request for the protocol version and the command have one time limit', async () => {
    const sockets: Socket[] = []
    // The request for the version takes most of its part of the time, and the command gets no reply.
    const socketPath = await serverOf((socket) => {
      if (sockets.push(socket) === 1) setTimeout(() => socket.end('0\n2 streaming'), 400)
    })
    const target = readTargetProcess(process.pid)
    assert.ok(target !== undefined)
    const begun = performance.now()
    await assert.rejects(attachCommand({ socketPath, target }, 'threaddump', [], { timeoutMs: 1_000 }), {
      message: 'attach command threaddump: no answer within 1000 ms',
    })
    for (const socket of sockets) socket.destroy()
    assert.ok(sockets.length === 2 && performance.now() - begun < 1_300)
  })

  it('an attach socket that closes the connection at once is reported', async () => {
    const path = await serverOf((socket) => socket.destroy())
    await assert.rejects(attachCommand(path, 'load'), AttachProtocolError)
  })

  it.each([
    ['25', '0\n2 streaming', '2'],
    ['24', '0\n2', '1'],
    ['17', '-1\nOperation getversion not recognized!', '1'],
  ])(
    'a JVM of JDK %s is asked once whether it streams replies, and only before an operation that stops threads',
    async (_, version, expected) => {
      const asked: string[] = []
      const socketPath = await serverOf((socket) =>
        socket.once('data', (request) => {
          const [protocol, first, second] = request.toString().split('\0')
          const name = protocol === '1' ? first! : second!
          asked.push(`${protocol} ${name.split(' ', 1)}`)
          socket.end(name === 'getversion' ? version : '0\n')
        }),
      )
      const to = { socketPath, target: readTargetProcess(process.pid)! }
      for (const operation of ['properties', 'threaddump', 'jcmd']) await attachCommand(to, operation)
      assert.deepEqual(asked, ['1 properties', '1 getversion', `${expected} threaddump`, `${expected} jcmd`])
    },
  )

  it('an attach reply that arrives in pieces is read completely', async () => {
    const path = await serverOf((socket) =>
      socket.once('data', () => {
        socket.write('0')
        setTimeout(() => socket.end('\nré'), 20)
      }),
    )
    assert.equal((await attachCommand(path, 'x')).text, 'ré')
  })

  it.each([
    ['that has no module layer yet', '-1\njava.lang.NullPointerException: Cannot invoke "ModuleLayer.…"\n'],
    [
      'that has not reached its live phase yet',
      '0\nDynamic agent loading is only permitted in the live phase\n',
    ],
  ])('the request to load the agent is repeated for a JVM %s', async (_, young) => {
    const answers = [young, young, '0\nreturn code: 0\n']
    const socketPath = await serverOf((socket) =>
      socket.once('data', () => socket.end(answers.shift() ?? '')),
    )
    await loadThrough(socketPath)
    assert.deepEqual(answers, [])
  })

  it('an attach to a JVM that never reaches its live phase fails after a timeout', async () => {
    const young = '0\nDynamic agent loading is only permitted in the live phase\n'
    const socketPath = await serverOf((socket) => socket.once('data', () => socket.end(young)))
    await assert.rejects(loadThrough(socketPath, { timeoutMs: 1000 }), AgentNotLoaded)
  })

  it('a missing attach socket is reported', async () => {
    await assert.rejects(attachCommand('/nonexistent/socket', 'x'), /connection failed \(ENOENT\)/)
  })
})
