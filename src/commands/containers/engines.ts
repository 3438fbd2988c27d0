// Finds containers by name with the clients of their engines: docker, podman, nerdctl and crictl.
//
//   docker container inspect NAME        [{"Id": "<64 hex>", "State": {"Status": "running", "Pid": 4711, …}, …}]   also podman, nerdctl
//   crictl ps --name '^NAME$' -o json    {"containers": [{"id": "<64 hex>", "metadata": {"name": "NAME"}, "state": "CONTAINER_RUNNING"}]}
//   crictl inspect -o json ID            {"status": {"id": "<64 hex>", "state": "CONTAINER_RUNNING", …}, "info": {"pid": 4711, …}}
//
// Docker Engine API (ContainerInspect), podman-container-inspect(1), command-reference.md of nerdctl, crictl.md of cri-tools.

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
import { anyOf, type IsInside, insideNamed, insideOf, isHere, isId } from './processes.ts'

/** No client knows the container, or no client could answer. */
export class ContainerUnknown extends JfluidError {
  static sample = () => new ContainerUnknown('container shop', ['docker says: No such object: shop'])
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Check the name. With sudo these programs have other settings: sudo --preserve-env=KUBECONFIG,DOCKER_HOST. Or give a process id, which jfluid ps lists.'
  /** @param said  messages of the clients, with their names */
  constructor(what: string, said: readonly string[]) {
    super(`cannot find ${what}: ${said.join('; ')}`)
  }
}

export class ContainerNotRunning extends JfluidError {
  static sample = () => new ContainerNotRunning('container shop', 'paused')
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Start or resume the container, then try again.'
  constructor(what: string, state: string) {
    super(`${what} is not running: its state is ${state}`)
  }
}

/** The engine has returned a process id that is not on this machine. */
export class ContainerElsewhere extends JfluidError {
  static sample = () => new ContainerElsewhere('container shop', 'docker', 4711)
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Run jfluid on the machine of the container engine, which is another one with DOCKER_HOST or Docker Desktop. If jfluid runs in a container, start that with docker run --pid=host --cap-add=SYS_PTRACE.'
  constructor(what: string, client: string, pid: number) {
    super(`${what} does not run on this machine: ${client} reports process ${pid}, which does not exist here`)
  }
}

/** A container found by an engine's client. */
interface Found {
  readonly client: string
  readonly id: string
  /** Id of its first process; 0 if there is none. */
  readonly pid: number
  readonly state: string
}

const ENGINES: readonly string[] = ['docker', 'podman', 'nerdctl', 'crictl']

/** Timeout for the other clients after one client has found the container. Another client may report a container of the same name. */
const OTHERS_TIMEOUT_MS = 1_000

/**
 * Finds the containers with that name or id. Several engines may have a container of the same name, and so may Kubernetes. A container that
 * is found by the name of its control group is added to the containers that the clients report. It does not replace them: any user can
 * create a control group with that name.
 *
 * @param asked  clients to run
 * @throws NoContainerClient, ContainerUnknown, ContainerNotRunning, ContainerElsewhere, and errors of `Clients.ask`
 */
export async function containersNamed(
  name: string,
  clients: Clients,
  asked: readonly string[] = ENGINES,
): Promise<IsInside> {
  const seen = insideNamed(name)
  if (seen !== undefined && isId(name)) return seen
  const asks = asked.map((client) => (client === 'crictl' ? byCri(name) : inspected(client, [], name)))
  return await askedFor(`container ${name}`, clients, asked, asks, seen === undefined ? [] : [seen])
}

/** Finds a container that Kubernetes runs on this machine. */
export async function containerOfPod(what: string, id: string, clients: Clients): Promise<IsInside> {
  const nerdctl = inspected('nerdctl', ['--namespace', 'k8s.io'], id)
  const asks = [byCri(id), nerdctl, inspected('docker', [], id), inspected('podman', [], id)]
  return await askedFor(what, clients, ENGINES, asks)
}

/** One question to a client, and its result. */
class Asked {
  isThere = false
  /** Error messages of the engine clients (docker, podman, …) that do not know the container. */
  readonly said: string[] = []
  found: readonly Found[] = []
  problem: JfluidError | undefined

  constructor(readonly clients: Clients) {}

  /** Returns the answer of a client; undefined if the client is missing or does not know the container. */
  async ask(client: string, args: readonly string[]): Promise<string | undefined> {
    // biome-ignore lint/plugin/no-spread: words of one command
    const answer = await this.clients.ask(client, ...args)
    this.isThere ||= answer !== undefined
    if (answer === undefined || answer.code === 0) return answer?.stdout
    this.said.push(`${client} says: ${answer.stderr || `exit code ${answer.code}`}`)
    return undefined
  }
}

type Ask = (asked: Asked) => Promise<readonly Found[]>

/**
 * Runs all clients concurrently, so a client that hangs does not delay the other clients.
 *
 * @param names  names of the clients
 * @param seen   containers found without clients
 */
async function askedFor(
  what: string,
  clients: Clients,
  names: readonly string[],
  asks: readonly Ask[],
  seen: readonly IsInside[] = [],
): Promise<IsInside> {
  const answers = (await answersOf(clients, asks, seen.length > 0)).filter((it) => it.isThere)
  const found = answers.flatMap((it) => it.found)
  const running = found.filter(({ state }) => isRunning(state))
  const here = running.filter(({ pid, id }) => isHere(pid, id))
  const inside = [...seen, ...here.map(({ pid }) => insideOf(pid))]
  if (inside.length > 0) return anyOf(inside)
  const [elsewhere] = running
  if (elsewhere !== undefined) throw new ContainerElsewhere(what, elsewhere.client, elsewhere.pid)
  const [stopped] = found
  if (stopped !== undefined) throw new ContainerNotRunning(what, stopped.state)
  const problem = answers.find((it) => it.problem !== undefined)?.problem
  if (problem !== undefined) throw problem
  if (names.length === 0) throw new ContainerUnknown(what, ['no control group has this name'])
  if (answers.length === 0) throw new NoContainerClient(what, names)
  const said = answers.flatMap((it) => it.said)
  throw new ContainerUnknown(what, said)
}

/** Returns the finished questions in their original order. Omits questions that have exceeded OTHERS_TIMEOUT_MS. */
async function answersOf(clients: Clients, asks: readonly Ask[], isFound: boolean): Promise<Asked[]> {
  const answered = new Map<number, Asked>()
  let grace: NodeJS.Timeout | undefined
  await new Promise<void>((resolve, reject) => {
    const enough = (): void => {
      grace ??= setTimeout(resolve, OTHERS_TIMEOUT_MS)
    }
    if (isFound) enough()
    const all = asks.map(async (ask, index) => {
      const asked = new Asked(clients)
      try {
        asked.found = await ask(asked)
      } catch (problem) {
        if (!(problem instanceof JfluidError)) throw problem
        asked.problem = problem
        asked.isThere = true
      }
      answered.set(index, asked)
      if (asked.found.some(({ state, pid, id }) => isRunning(state) && isHere(pid, id))) enough()
    })
    Promise.all(all).then(() => resolve(), reject)
  })
  clearTimeout(grace)
  return asks.flatMap((_, index) => answered.get(index) ?? [])
}

/** Docker and Podman report running, the CRI CONTAINER_RUNNING. A paused container would not answer an attach. */
const isRunning = (state: string): boolean => /^(?:CONTAINER_)?RUNNING$/i.test(state)

const inspected =
  (client: string, options: readonly string[], name: string): Ask =>
  async (asked) => {
    const answer = await asked.ask(client, [...options, 'container', 'inspect', name])
    if (answer === undefined) return []
    const command = `${client} container inspect`
    return listAt({ all: parseAnswer(command, answer) }, 'all').map((it) => {
      const [id, pid, state] = [at(it, 'Id'), at(it, 'State', 'Pid'), at(it, 'State', 'Status')]
      return foundIn(command, { client, id, pid, state })
    })
  }

const byCri =
  (name: string): Ask =>
  async (asked) => {
    const found: Found[] = []
    for (const id of isId(name) ? [name] : await namedByCri(name, asked)) {
      const answer = await asked.ask('crictl', ['inspect', '--output', 'json', id])
      if (answer !== undefined) found.push(criFound(answer))
    }
    return found
  }

/** Ids of the running containers. */
async function namedByCri(name: string, asked: Asked): Promise<string[]> {
  const pattern = `^${name.replaceAll('.', '\\.')}$`
  const answer = await asked.ask('crictl', ['ps', '--name', pattern, '--output', 'json'])
  if (answer === undefined) return []
  const ids = listAt(parseAnswer('crictl ps', answer), 'containers').flatMap((it) => textAt(it, 'id') ?? [])
  if (ids.length === 0) asked.said.push('crictl lists none of that name')
  return ids
}

function criFound(text: string): Found {
  const command = 'crictl inspect'
  const it = parseAnswer(command, text)
  const [id, pid, state] = [at(it, 'status', 'id'), at(it, 'info', 'pid'), at(it, 'status', 'state')]
  return foundIn(command, { client: 'crictl', id, pid, state })
}

/** @throws ContainerClientNotUnderstood if a value has the wrong type */
function foundIn(
  command: string,
  { client, id, pid = 0, state }: { client: string; id: unknown; pid: unknown; state: unknown },
): Found {
  if (typeof id !== 'string' || typeof state !== 'string' || !Number.isSafeInteger(pid))
    throw new ContainerClientNotUnderstood(command, 'it has no id, state or process')
  return { client, id, pid: pid as number, state }
}
