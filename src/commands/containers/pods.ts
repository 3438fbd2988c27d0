// Containers of a pod of Kubernetes, if its node is this machine.
//
//   kubectl get pod POD --namespace NS --output json
//     {"spec": {"nodeName": "worker-3", …},
//      "status": {"phase": "Running", "hostIP": "10.0.0.3",
//                 "containerStatuses": [{"name": "app", "containerID": "containerd://<64 hex>", "state": {"running": {…}}}, …]}}
//
// Kubernetes API, v1 PodStatus. Sidecars (init containers that keep running) and debug containers are in separate lists.

import { hostname, networkInterfaces } from 'node:os'
import { EX_NOHOST, JfluidError } from '../../base/errors.ts'
import { at, type Clients, listAt, NoContainerClient, parseAnswer, textAt } from './clients.ts'
import { ContainerNotRunning, ContainerUnknown, containerOfPod } from './engines.ts'
import type { PodName } from './name.ts'
import { anyOf, type IsInside, insideNamed } from './processes.ts'

/** The pod runs on another machine, and must be profiled there. */
export class PodElsewhere extends JfluidError {
  static sample = () =>
    new PodElsewhere('pod shop/orders', 'worker-3', [{ id: '0123456789ab', name: 'app' }], 'worker-1')
  readonly exitCode = EX_NOHOST
  readonly hint: string
  constructor(what: string, node: string, containers: readonly ContainerOfPod[], here = hostname()) {
    super(`${what} runs on node ${node}, and jfluid runs on ${here}`)
    const each = containers.map(({ id, name }) => `container:${id.slice(0, 12)} (${name})`)
    this.hint = `Run jfluid on that node, as root: jfluid attach ${each.join(', or ')}`
  }
}

interface ContainerOfPod {
  readonly id: string
  readonly name: string
}

const STATUSES = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']

/** @throws PodElsewhere, and errors of `containersNamed` */
export async function containersOfPod(name: PodName, clients: Clients): Promise<IsInside> {
  const { namespace, pod, container } = name
  const what = `pod ${namespace}/${pod}`
  const answer = await clients.ask('kubectl', 'get', 'pod', pod, '--namespace', namespace, '--output', 'json')
  if (answer === undefined) throw new NoContainerClient(what, ['kubectl'])
  if (answer.code !== 0)
    throw new ContainerUnknown(what, [`kubectl says: ${answer.stderr || `exit code ${answer.code}`}`])
  const told = parseAnswer('kubectl get pod', answer.stdout)
  const all = STATUSES.flatMap((list) => listAt(told, 'status', list))
  const meant = all.filter((it) => container === undefined || textAt(it, 'name') === container)
  if (meant.length === 0 && all.length > 0) {
    const names = all.flatMap((it) => textAt(it, 'name') ?? [])
    throw new ContainerUnknown(`container ${container} of ${what}`, [`it has ${names.join(', ')}`])
  }
  const running = meant.filter((it) => at(it, 'state', 'running') !== undefined).flatMap(containerIn)
  const ids = running.map(({ id }) => id)
  if (ids.length === 0) throw new ContainerNotRunning(what, stateOf(told, meant))
  const seen = ids.flatMap((id) => insideNamed(id) ?? [])
  if (seen.length > 0) return anyOf(seen)
  const node = textAt(told, 'spec', 'nodeName') ?? '?'
  if (!isThisNode(node, textAt(told, 'status', 'hostIP'))) throw new PodElsewhere(what, node, running)
  const asked: IsInside[] = []
  for (const id of ids) asked.push(await containerOfPod(what, id, clients))
  return anyOf(asked)
}

/** State as Kubernetes reports it: why the pod's first container does not run, otherwise the phase of the pod. */
function stateOf(told: unknown, [status]: readonly unknown[]): string {
  const reason = ['waiting', 'terminated'].map((it) => textAt(status, 'state', it, 'reason')).find(Boolean)
  return reason ?? textAt(told, 'status', 'phase') ?? 'not started'
}

/** Returns the container with its id, without the prefix of the engine. */
function containerIn(status: unknown): ContainerOfPod[] {
  const id = /^[a-z-]+:\/\/([0-9a-f]{64})$/.exec(textAt(status, 'containerID') ?? '')?.[1]
  return id === undefined ? [] : [{ id, name: textAt(status, 'name') ?? '?' }]
}

/** Compares the node with this machine, by name and by address. */
function isThisNode(node: string, address: string | undefined): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((it) => it.address))
  return node === hostname() || (address !== undefined && addresses.includes(address))
}
