// Containers by name, as their engines' clients tell: docker, podman, nerdctl and crictl.
//
//   docker container inspect NAME        [{"Id": "<64 hex>", "State": {"Status": "running", "Pid": 4711, …}, …}]   also podman, nerdctl
//   crictl ps --name '^NAME$' -o json    {"containers": [{"id": "<64 hex>", "metadata": {"name": "NAME"}, "state": "CONTAINER_RUNNING"}]}
//   crictl inspect -o json ID            {"status": {"id": "<64 hex>", "state": "CONTAINER_RUNNING", …}, "info": {"pid": 4711, …}}
//
// Docker Engine API (ContainerInspect), podman-container-inspect(1), nerdctl docs/command-reference.md, cri-tools docs/crictl.md.

import { EX_NOHOST, EX_TEMPFAIL, JfluidError } from '../../base/errors.ts'
import {
  at,
  type Clients,
  ContainerClientNotUnderstood,
  listAt,
  NoContainerClient,
  parseAnswer,
  textAt,
} from './clients.ts'
import { type IsInside, insideNamed, insideOf, isHere } from './inside.ts'

/** Who was asked does not know it, or does not tell. */
export class ContainerUnknown extends JfluidError {
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Mind that clients look where the settings of their user say (sudo has others), or give a process id: jfluid ps lists the JVMs of containers as well.'
  /** @param said  by whom, and what */
  constructor(what: string, said: readonly string[]) {
    super(`cannot find ${what}: ${said.join('; ')}`)
  }
}

export class ContainerNotRunning extends JfluidError {
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Start it, or let it go on, and try again.'
  constructor(what: string, state: string) {
    super(`${what} does not run: it is ${state}`)
  }
}

/** Its engine has said where it runs, and that is not here. */
export class ContainerElsewhere extends JfluidError {
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Run jfluid on the machine of the engine (DOCKER_HOST and Docker Desktop have another); in a container: docker run --pid=host.'
  constructor(what: string, client: string, pid: number) {
    super(`${what} is none of the processes that are seen here: ${client} says that it is process ${pid}`)
  }
}

/** A container by its id, from an engine's client. */
interface Found {
  readonly client: string
  readonly id: string
  /** Its first process; 0 if there is none. */
  readonly pid: number
  readonly state: string
}

const LIKE_DOCKER = ['docker', 'podman', 'nerdctl'] as const
const ENGINES: readonly string[] = [...LIKE_DOCKER, 'crictl']

/**
 * The containers of that name or id; there may be several of a name in Kubernetes.
 *
 * @throws NoContainerClient, ContainerUnknown, ContainerNotRunning, ContainerElsewhere, and those of `Clients.ask`
 */
export async function containersNamed(name: string, clients: Clients): Promise<IsInside> {
  const what = `container ${name}`
  return insideNamed(name) ?? (await askedFor(what, clients, [...LIKE_DOCKER.map(byName(name)), byCri(name)]))
}

/** The same, of one that Kubernetes has on this machine. */
export async function containerOfPod(what: string, id: string, clients: Clients): Promise<IsInside> {
  const nerdctl = (asked: Asked): Promise<readonly Found[] | undefined> =>
    inspected('nerdctl', ['--namespace', 'k8s.io'], id, asked)
  return await askedFor(what, clients, [byCri(id), nerdctl, byName(id)('docker'), byName(id)('podman')])
}

interface Asked {
  readonly clients: Clients
  /** What those said that do not know it. */
  readonly said: string[]
}

/** Undefined if the client is not there; empty if it does not know it. */
type Ask = (asked: Asked) => Promise<readonly Found[] | undefined>

async function askedFor(what: string, clients: Clients, asks: readonly Ask[]): Promise<IsInside> {
  const asked: Asked = { clients, said: [] }
  let isThere = false
  for (const ask of asks) {
    const found = await ask(asked)
    if (found === undefined) continue
    isThere = true
    if (found.length > 0) return insideAll(what, found)
  }
  if (!isThere) throw new NoContainerClient(what, ENGINES)
  throw new ContainerUnknown(what, asked.said)
}

function insideAll(what: string, found: readonly Found[]): IsInside {
  const running = found.filter(({ state }) => isRunning(state))
  if (running.length === 0) throw new ContainerNotRunning(what, found[0]!.state)
  const all = running.map(({ client, id, pid }) => {
    if (!isHere(pid, id)) throw new ContainerElsewhere(what, client, pid)
    return insideOf(pid)
  })
  return (pid) => all.some((isInside) => isInside(pid))
}

/** Docker and Podman say running, the CRI CONTAINER_RUNNING. What is paused would not answer. */
const isRunning = (state: string): boolean => /^(?:CONTAINER_)?RUNNING$/i.test(state)

const byName =
  (name: string) =>
  (client: string): Ask =>
  (asked) =>
    inspected(client, [], name, asked)

async function inspected(
  client: string,
  options: readonly string[],
  name: string,
  { clients, said }: Asked,
): Promise<readonly Found[] | undefined> {
  const answer = await clients.ask(client, ...options, 'container', 'inspect', name)
  if (answer === undefined) return undefined
  if (answer.code !== 0) {
    said.push(`${client} says: ${answer.stderr || `exit code ${answer.code}`}`)
    return []
  }
  const command = `${client} container inspect`
  return listAt({ all: parseAnswer(command, answer.stdout) }, 'all').map((it) =>
    foundIn(command, {
      client,
      id: at(it, 'Id'),
      pid: at(it, 'State', 'Pid'),
      state: at(it, 'State', 'Status'),
    }),
  )
}

const byCri =
  (name: string): Ask =>
  async ({ clients, said }) => {
    const listed = /^[0-9a-f]{12,64}$/.test(name) ? [name] : await namedByCri(name, clients, said)
    const found: Found[] = []
    for (const id of listed ?? []) {
      const answer = await clients.ask('crictl', 'inspect', '--output', 'json', id)
      if (answer === undefined) return undefined
      if (answer.code !== 0) said.push(`crictl says: ${answer.stderr || `exit code ${answer.code}`}`)
      else found.push(criFound(answer.stdout))
    }
    return listed === undefined ? undefined : found
  }

/** Ids of those that run. */
async function namedByCri(name: string, clients: Clients, said: string[]): Promise<string[] | undefined> {
  const pattern = `^${name.replaceAll('.', '\\.')}$`
  const answer = await clients.ask('crictl', 'ps', '--name', pattern, '--output', 'json')
  if (answer === undefined) return undefined
  if (answer.code !== 0) {
    said.push(`crictl says: ${answer.stderr || `exit code ${answer.code}`}`)
    return []
  }
  const ids = listAt(parseAnswer('crictl ps', answer.stdout), 'containers').flatMap(
    (it) => textAt(it, 'id') ?? [],
  )
  if (ids.length === 0) said.push('crictl lists none of that name')
  return ids
}

function criFound(text: string): Found {
  const command = 'crictl inspect'
  const it = parseAnswer(command, text)
  const [id, pid] = [at(it, 'status', 'id'), at(it, 'info', 'pid')]
  return foundIn(command, { client: 'crictl', id, pid, state: at(it, 'status', 'state') })
}

/** @throws ContainerClientNotUnderstood if one of them is not what it should be */
function foundIn(
  command: string,
  { client, id, pid = 0, state }: { client: string; id: unknown; pid: unknown; state: unknown },
): Found {
  if (typeof id !== 'string' || typeof state !== 'string' || !Number.isSafeInteger(pid))
    throw new ContainerClientNotUnderstood(command, 'there is no id, state or process in it')
  return { client, id, pid: pid as number, state }
}
