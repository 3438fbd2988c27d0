// Containers by name. Scripts with the output of real container and Kubernetes clients replace these clients. They lead to a process in
// its own namespaces.

import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { clientPath } from '../../src/commands/containers/client-path.ts'
import { Clients } from '../../src/commands/containers/clients.ts'
import { containersNamed } from '../../src/commands/containers/engines.ts'
import { insideContainer } from '../../src/commands/containers/named.ts'
import { cannotContain, innermost, PIDS } from '../support/contained.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { describeOnlyIf } from '../support/only-if.ts'

const ID = '3f2a91c0bd1e4a5f6c7d8e9f00112233445566778899aabbccddeeff00112233'
const OTHER_ID = 'aaaa91c0bd1e4a5f6c7d8e9f00112233445566778899aabbccddeeff00112233'
const ROOTLESS = ['--user', '--map-root-user', ...PIDS]
const obstacle = cannotContain(...ROOTLESS)

const IS_ROOT = process.geteuid?.() === 0
const { PATH } = process.env
let bin = ''
let boxes: JavaProcess[] = []
/** Process ids of two processes in separate namespaces, as in two containers. */
let inside = 0
let other = 0

beforeAll(async () => {
  if (obstacle !== '') return
  const start = () => startProcess('unshare', [...ROOTLESS, 'sh', '-c', 'echo ready; exec sleep 600'])
  boxes = [start(), start()]
  for (const box of boxes) await box.line(/ready/)
  ;[inside, other] = boxes.map((it) => innermost(it.pid)) as [number, number]
})

afterAll(async () => {
  for (const box of boxes) await box.kill()
})

beforeEach(() => {
  bin = join(temporaryDirectory(), 'bin')
  mkdirSync(bin)
  process.env.PATH = bin // hides the container clients of this machine
})

afterEach(() => {
  process.env.PATH = PATH
})

/**
 * Creates a fake container client. `answers` is keyed by the arguments: a text is printed as an error, a number is a time to sleep in
 * seconds, and an object is printed as JSON. The client logs its arguments in a file.
 */
function client(name: string, answers: { readonly [asked: string]: string | number | object }): void {
  const cases = Object.entries(answers).map(([asked, answer]) => {
    if (typeof answer === 'string') return `'${asked}') printf '%s\\n' '${answer}' >&2; exit 1;;`
    if (typeof answer === 'number') return `'${asked}') exec /bin/sleep ${answer};;`
    const file = join(bin, `${name}-${Object.keys(answers).indexOf(asked)}.json`)
    writeFileSync(file, JSON.stringify(answer, null, 4))
    return `'${asked}') exec /bin/cat '${file}';;`
  })
  const script = `#!/bin/sh\necho $$ > '${bin}/${name}.pid'\nprintf '%s\\n' "$*" >> '${bin}/${name}.asked'\ncase "$*" in\n${cases.join('\n')}\n*) exit 9;;\nesac\n`
  writeFileSync(join(bin, name), script, { mode: 0o755 })
}

const asked = (name: string): string[] =>
  existsSync(join(bin, `${name}.asked`))
    ? readFileSync(join(bin, `${name}.asked`), 'utf8')
        .trim()
        .split('\n')
    : []

/**
 * Returns the output of `docker container inspect` of Docker Engine 27, shortened. Podman and nerdctl use the same names for these members.
 */
const inspected = (pid: number, status = 'running') => [
  {
    Id: ID,
    Created: '2026-11-02T08:13:05.418113931Z',
    Path: 'java',
    Args: ['-jar', '/app.jar'],
    State: {
      ...{ Status: status, Running: status === 'running', Paused: status === 'paused', Restarting: false },
      ...{ OOMKilled: false, Dead: false, Pid: pid, ExitCode: 0, Error: '' },
      ...{ StartedAt: '2026-11-02T08:13:05.90175342Z', FinishedAt: '0001-01-01T00:00:00Z' },
    },
    Image: 'sha256:90801a9127664f213bd95dd2ca98c0294928d269dbeaa0f776359e3781f78526',
    Name: '/shop',
  },
]

/** Returns the output of `crictl inspect --output json` of cri-tools 1.30, shortened. */
const criInspected = (pid: number, id = ID) => ({
  status: {
    id,
    metadata: { attempt: 0, name: 'app' },
    state: 'CONTAINER_RUNNING',
    createdAt: '2026-11-02T08:13:05.418113931Z',
    labels: { 'io.kubernetes.container.name': 'app', 'io.kubernetes.pod.name': 'shop-0' },
  },
  info: { sandboxID: OTHER_ID, pid, removing: false, snapshotter: 'overlayfs' },
})

const criList = (...ids: string[]) => ({
  containers: ids.map((id) => ({
    id,
    podSandboxId: OTHER_ID,
    metadata: { name: 'app', attempt: 0 },
    state: 'CONTAINER_RUNNING',
    createdAt: '1698912785418113931',
  })),
})

const pidOf = (name: string): string => readFileSync(join(bin, `${name}.pid`), 'utf8').trim()

/** Returns whether the process is running. An ended process is listed until its parent waits for it, and init may do this late. */
function isRunning(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function hasEnded(name: string): Promise<void> {
  await expect.poll(() => isRunning(pidOf(name)), { timeout: 30_000 }).toBe(false)
}

const NONE_OF_DOCKER = 'Error response from daemon: No such container: shop'
const NONE_OF_PODMAN = 'Error: inspecting object: no such container shop'

describeOnlyIf(obstacle === '', `this system makes no container without root: ${obstacle}`)(
  'the processes of a container are found by its name',
  () => {
    it.each(['docker', 'podman', 'nerdctl'])(
      'container client %s resolves a container name to the processes of the container',
      async (name) => {
        client(name, { 'container inspect shop': inspected(inside) })
        const isInside = await insideContainer('container:shop')
        expect([inside, other, process.pid].map(isInside)).toEqual([true, false, false])
      },
    )

    it('the answer of a container client is used only if it reports the container as running', async () => {
      client('podman', { 'container inspect shop': inspected(other) })
      client('crictl', {})
      for (const answer of [NONE_OF_DOCKER, inspected(0, 'exited'), inspected(2 ** 22 + 1)]) {
        client('docker', { 'container inspect shop': answer })
        const isInside = await insideContainer('container:shop')
        expect([inside, other].map(isInside)).toEqual([false, true])
      }
    })

    it('if several container clients know a container with the given name, the processes of all these containers are found', async () => {
      client('docker', { 'container inspect shop': inspected(inside) })
      client('podman', { 'container inspect shop': inspected(other) })
      const isInside = await insideContainer('container:shop')
      expect([inside, other, process.pid].map(isInside)).toEqual([true, true, false])
    })

    it('a prefix such as podman: selects one container client', async () => {
      client('docker', { 'container inspect shop': inspected(inside) })
      client('podman', { 'container inspect shop': inspected(other) })
      const isInside = await insideContainer('podman:shop')
      expect([inside, other].map(isInside)).toEqual([false, true])
      expect(asked('docker')).toEqual([])
    })

    it('a container client that hangs is killed, and the answer of another client is used', async () => {
      client('docker', { 'container inspect shop': 600 })
      client('podman', { 'container inspect shop': inspected(other) })
      expect((await insideContainer('container:shop'))(other)).toBe(true)
      await hasEnded('docker')
    })

    it('a container client whose child process keeps the output open does not block the lookup', async () => {
      const file = join(bin, 'answer.json')
      writeFileSync(file, JSON.stringify(inspected(inside)))
      const script = `#!/bin/sh\n/bin/sleep 600 & echo $! > '${bin}/docker.pid'\nexec /bin/cat '${file}'\n`
      writeFileSync(join(bin, 'docker'), script, { mode: 0o755 })
      const isInside = await insideContainer('container:shop')
      process.kill(Number(pidOf('docker')))
      expect(isInside(inside)).toBe(true)
    })

    it('crictl finds all containers with a name, even in several pods', async () => {
      client('crictl', {
        'ps --name ^app$ --output json': criList(ID, OTHER_ID),
        [`inspect --output json ${ID}`]: criInspected(inside),
        [`inspect --output json ${OTHER_ID}`]: criInspected(other, OTHER_ID),
      })
      const isInside = await insideContainer('container:app')
      expect([inside, other, process.pid].map(isInside)).toEqual([true, true, false])
    })

    it('a container is found by the first digits of the container id', async () => {
      const short = ID.slice(0, 12)
      client('crictl', { [`inspect --output json ${short}`]: criInspected(inside) })
      expect((await insideContainer(`container:${short}`))(inside)).toBe(true)
    })

    it('the prefix k8s: finds the containers of a pod that runs on this machine', async () => {
      client('kubectl', { [GET_POD]: pod({ nodeName: hostname() }) })
      client('crictl', {
        [`inspect --output json ${ID}`]: criInspected(inside),
        [`inspect --output json ${OTHER_ID}`]: criInspected(other, OTHER_ID),
      })
      const both = await insideContainer('k8s:shop/shop-0')
      expect([inside, other].map(both)).toEqual([true, true])
      const one = await insideContainer('k8s:shop/shop-0/log')
      expect([inside, other].map(one)).toEqual([false, true])
    })

    it('the prefix k8s: recognizes this machine by its IP address if the node name differs', async () => {
      client('kubectl', { [GET_POD]: pod({ nodeName: 'node-of-another-name', hostIP: '127.0.0.1' }) })
      client('nerdctl', { [`--namespace k8s.io container inspect ${ID}`]: inspected(inside) })
      expect((await insideContainer('k8s:shop/shop-0/app'))(inside)).toBe(true)
    })
  },
)

const GET_POD = 'get pod shop-0 --namespace shop --output json'

/** Returns the output of `kubectl get pod --output json` of Kubernetes 1.30, shortened. */
function pod({ nodeName = 'worker-3', hostIP = '192.0.2.3', phase = 'Running', containers = RUNNING }) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shop-0', namespace: 'shop', uid: 'd9c1b2a3-0000-1111-2222-333344445555' },
    spec: { containers: [{ name: 'app' }], nodeName },
    status: { phase, hostIP, hostIPs: [{ ip: hostIP }], podIP: '10.88.0.17', containerStatuses: containers },
  }
}

const status = (name: string, id: string, state: object) => ({
  ...{ name, image: 'shop:1', ready: true, restartCount: 0, started: true, state },
  containerID: `containerd://${id}`,
})
const RUNNING = [
  status('app', ID, { running: { startedAt: '2026-11-02T08:13:05Z' } }),
  status('log', OTHER_ID, { running: { startedAt: '2026-11-02T08:13:06Z' } }),
]

const CRASHED = status('app', ID, { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } })

/** Returns the exit status of the refusal, and its message and hint. */
async function refusal(text: string, clients?: Clients) {
  const name = text.replace(/^container:/, '')
  const found = clients === undefined ? insideContainer(text) : containersNamed(name, clients)
  return await found
    .finally(() => clients?.close())
    .then(
      () => 'found',
      (it) => ({ exit: it.exitCode, says: `${it.message}; ${it.hint}` }),
    )
}

describe('error messages of a failed container lookup', () => {
  it('the error of a failed container lookup states that no container client is installed', async () => {
    expect(await refusal('container:shop')).toMatchObject({
      exit: STATUS.notAJvm,
      says: expect.stringMatching(
        /^cannot find container shop: none of docker, podman, nerdctl, crictl is on the PATH/,
      ),
    })
    expect(await refusal('k8s:shop/shop-0')).toMatchObject({
      says: expect.stringMatching(/^cannot find pod shop\/shop-0: none of kubectl is on the PATH/),
    })
  })

  it('the error of a failed container lookup quotes the answer of each container client if no client knows the container', async () => {
    client('docker', { 'container inspect shop': NONE_OF_DOCKER })
    client('podman', { 'container inspect shop': NONE_OF_PODMAN })
    client('crictl', { 'ps --name ^shop$ --output json': criList() })
    expect(await refusal('container:shop')).toMatchObject({
      exit: STATUS.noSuchProcess,
      says: expect.stringContaining(
        `cannot find container shop: docker says: ${NONE_OF_DOCKER}; podman says: ${NONE_OF_PODMAN}; crictl lists none of that name; `,
      ),
    })
  })

  it.each(['exited', 'paused', 'created'])(
    'the error of a failed container lookup reports that the container is in state %s',
    async (state) => {
      client('docker', { 'container inspect shop': inspected(0, state) })
      expect(await refusal('container:shop')).toMatchObject({
        exit: STATUS.notNow,
        says: expect.stringContaining(`container shop is not running: its state is ${state}`),
      })
    },
  )

  it('the error of a failed container lookup suggests a remote container engine if the reported process id does not exist on this machine', async () => {
    for (const pid of [process.pid, 2 ** 22 + 1]) {
      client('docker', { 'container inspect shop': inspected(pid) })
      expect(await refusal('container:shop')).toMatchObject({
        exit: STATUS.noSuchProcess,
        says: expect.stringContaining(
          `docker reports process ${pid}, which does not exist here; Run jfluid on the machine of the container engine`,
        ),
      })
    }
  })

  it('the error of a failed container lookup names the container client that hung and was killed', async () => {
    client('docker', { 'container inspect shop': 600 })
    client('podman', { 'container inspect shop': NONE_OF_PODMAN })
    expect(await refusal('container:shop', new Clients(500))).toMatchObject({
      exit: STATUS.notNow,
      says: expect.stringContaining('docker container inspect shop did not answer within 0.5 s'),
    })
    expect(asked('podman')).toHaveLength(1)
    await hasEnded('docker')
  })

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'the signal %s during a container lookup kills the container client',
    async (signal) => {
      client('docker', { 'container inspect shop': 600 })
      const jfluid = startProcess(process.execPath, [cli, 'doctor', 'container:shop'], { env: { PATH: bin } })
      await expect.poll(() => asked('docker'), { timeout: 30_000 }).toHaveLength(1)
      jfluid.child.kill(signal)
      expect((await jfluid.exit).code).not.toBe(0)
      await hasEnded('docker')
    },
  )

  it('as root, jfluid does not run a container client that users other than root can modify', async () => {
    client('docker', { 'container inspect shop': inspected(inside) })
    const of = (isRoot: boolean) => clientPath('docker', bin, isRoot)
    expect(of(false)).toBe(join(bin, 'docker'))
    // If the test does not run as root, its directory belongs to another user, so root would refuse the client.
    if (!IS_ROOT) return expect(() => of(true)).toThrow(`users other than root can change ${bin}`)
    expect(of(true)).toBe(join(bin, 'docker'))
    for (const path of [bin, join(bin, 'docker')]) {
      chmodSync(path, 0o777)
      expect(() => of(true)).toThrow(`users other than root can change ${path}`)
      chmodSync(path, 0o755)
    }
    chownSync(join(bin, 'docker'), 65534, 65534)
    expect(() => of(true)).toThrow('users other than root can change')
    expect(of(false)).toBe(join(bin, 'docker'))
  })

  it('container clients are never searched in relative PATH entries', () => {
    client('docker', {})
    const cwd = process.cwd()
    process.chdir(bin)
    try {
      expect(clientPath('docker', '.::bin:../bin')).toBeUndefined()
    } finally {
      process.chdir(cwd)
    }
  })

  it('the error of a failed container lookup quotes only the last readable sentence that kubectl printed', async () => {
    const log = 'E1124 04:33:03.102405 20525 memcache.go:265] "Unhandled Error" err="no group list"'
    client('kubectl', { [GET_POD]: `${`${log}\n`.repeat(9)}The connection to the server was refused` })
    expect(await refusal('k8s:shop/shop-0')).toMatchObject({
      says: expect.stringMatching(/kubectl says: The connection to the server was refused; /),
    })
  })

  it.each([
    ['no JSON', 'not found', 'cannot read the output of docker container inspect: Unexpected'],
    ['JSON of another structure', '[{"Id": 7}]', 'it has no id, state or process'],
    ['an invalid process id', JSON.stringify(inspected(1.5)), 'it has no id, state or process'],
  ])(
    'the error of a failed container lookup describes a container client that answers with %s',
    async (_, text, expected) => {
      writeFileSync(join(bin, 'docker'), `#!/bin/sh\nprintf '%s' '${text}'\n`, { mode: 0o755 })
      expect(await refusal('container:shop')).toMatchObject({
        exit: STATUS.notAJvm,
        says: expect.stringContaining(expected),
      })
    },
  )

  it('if a pod runs on another node, the error of the container lookup names that node and the command to run on that node', async () => {
    client('kubectl', { [GET_POD]: pod({}) })
    client('crictl', {})
    expect(await refusal('k8s:shop/shop-0')).toEqual({
      exit: STATUS.noSuchProcess,
      says: `pod shop/shop-0 runs on node worker-3, and jfluid runs on ${hostname()}; Run jfluid on that node, as root: jfluid attach container:${ID.slice(0, 12)} (app), or container:${OTHER_ID.slice(0, 12)} (log)`,
    })
    expect(asked('crictl')).toEqual([])
  })

  it('the errors of a container lookup differ for a missing pod, a missing container and a container that is not running', async () => {
    const none = 'Error from server (NotFound): pods "shop-0" not found'
    client('kubectl', { [GET_POD]: none })
    const cases: [string, object, RegExp][] = [
      ['k8s:shop/shop-0/web', pod({}), /^cannot find container web of pod shop\/shop-0: it has app, log; /],
      [
        'k8s:shop/shop-0',
        pod({ containers: [CRASHED] }),
        /^pod shop\/shop-0 is not running: its state is CrashLoopBackOff/,
      ],
      [
        'k8s:shop/shop-0',
        pod({ phase: 'Pending', containers: [] }),
        /^pod shop\/shop-0 is not running: its state is Pending/,
      ],
    ]
    expect(await refusal('k8s:shop/shop-0')).toMatchObject({
      exit: STATUS.noSuchProcess,
      says: expect.stringContaining(`cannot find pod shop/shop-0: kubectl says: ${none}`),
    })
    for (const [text, answer, says] of cases) {
      client('kubectl', { [GET_POD]: answer })
      expect(await refusal(text)).toMatchObject({ says: expect.stringMatching(says) })
    }
  })
})

it.each([
  ...['container:', 'container:--help', 'container:a b', 'container:a/b', 'container:$(id)'],
  ...[
    'docker:',
    'lxc:-x',
    'k8s:',
    'k8s:shop',
    'k8s:shop/',
    'k8s:/shop-0',
    'k8s:-n/x',
    'k8s:shop/-o',
    'k8s:a/b/c/d',
    'k8s:A/b',
  ],
])('the invalid container name %s is refused, and no container client is started', async (text) => {
  for (const name of ['docker', 'kubectl']) client(name, {})
  expect(await refusal(text)).toMatchObject({ exit: STATUS.usage })
  expect([...asked('docker'), ...asked('kubectl')]).toEqual([])
})
