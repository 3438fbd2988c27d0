// Containers by name, as their engines' clients tell: docker, podman, nerdctl and crictl.
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
import { anyOf, type IsInside, insideNamed, insideOf, isHere, isId } from './inside.ts'

/** Who was asked does not know it, or does not tell. */
export class ContainerUnknown extends JfluidError {
  static sample = () => new ContainerUnknown('container shop', ['docker says: No such object: shop'])
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Mind that clients look where the settings of their user say (sudo has others), or give a process id: jfluid ps lists the JVMs of containers as well.'
  /** @param said  by whom, and what */
  constructor(what: string, said: readonly string[]) {
    super(`cannot find ${what}: ${said.join('; ')}`)
  }
}

export class ContainerNotRunning extends JfluidError {
  static sample = () => new ContainerNotRunning('container shop', 'paused')
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Start it, or let it go on, and try again.'
  constructor(what: string, state: string) {
    super(`${what} does not run: it is ${state}`)
  }
}

/** Its engine has said where it runs, and that is not here. */
export class ContainerElsewhere extends JfluidError {
  static sample = () => new ContainerElsewhere('container shop', 'docker', 4711)
  readonly exitCode = EX_NOHOST
  readonly hint =
    'Run jfluid on the machine of the engine (DOCKER_HOST and Docker Desktop have another); in a container: docker run --pid=host --cap-add=SYS_PTRACE.'
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

const ENGINES: readonly string[] = ['docker', 'podman', 'nerdctl', 'crictl']

/** Once one has found it: so long the others may take to say that they have one of that name as well. */
const OTHERS_MS = 1_000

/**
 * The containers of that name or id: several engines may have one of a name, and Kubernetes several. One that a control group is called by
 * is among them, and not instead of them, as anybody may have given it that name.
 *
 * @param asked  the clients
 * @throws NoContainerClient, ContainerUnknown, ContainerNotRunning, ContainerElsewhere, and those of `Clients.ask`
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

/** The same, of one that Kubernetes has on this machine. */
export async function containerOfPod(what: string, id: string, clients: Clients): Promise<IsInside> {
  const nerdctl = inspected('nerdctl', ['--namespace', 'k8s.io'], id)
  const asks = [byCri(id), nerdctl, inspected('docker', [], id), inspected('podman', [], id)]
  return await askedFor(what, clients, ENGINES, asks)
}

/** One that is asked. */
class Asked {
  isThere = false
  /** That it does not know it. */
  readonly said: string[] = []
  found: readonly Found[] = []
  problem: JfluidError | undefined

  constructor(readonly clients: Clients) {}

  /** What it answers; undefined if it is not there, or does not know. */
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
 * Asks all of them at once: one that hangs keeps nobody from being asked.
 *
 * @param names  of those that are asked
 * @param seen  what is known without them
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
  if (names.length === 0) throw new ContainerUnknown(what, ['no control group is called so'])
  if (answers.length === 0) throw new NoContainerClient(what, names)
  const said = answers.flatMap((it) => it.said)
  throw new ContainerUnknown(what, said)
}

/** Those that have answered, in the order of the questions: not those whose answer is not worth a wait any more. */
async function answersOf(clients: Clients, asks: readonly Ask[], isFound: boolean): Promise<Asked[]> {
  const answered = new Map<number, Asked>()
  let grace: NodeJS.Timeout | undefined
  await new Promise<void>((resolve, reject) => {
    const enough = (): void => {
      grace ??= setTimeout(resolve, OTHERS_MS)
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

/** Docker and Podman say running, the CRI CONTAINER_RUNNING. What is paused would not answer. */
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

/** Ids of those that run. */
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

/** @throws ContainerClientNotUnderstood if one of them is not what it should be */
function foundIn(
  command: string,
  { client, id, pid = 0, state }: { client: string; id: unknown; pid: unknown; state: unknown },
): Found {
  if (typeof id !== 'string' || typeof state !== 'string' || !Number.isSafeInteger(pid))
    throw new ContainerClientNotUnderstood(command, 'there is no id, state or process in it')
  return { client, id, pid: pid as number, state }
}
