// Syntax of container names: container:NAME, names from `jfluid ps` (docker:3f2a91c0bd1e), and k8s:namespace/pod[/container].

/** Clients to run for each prefix; undefined for all clients. Containers with another prefix are found by their control groups only. */
const ASKED: ReadonlyMap<string, readonly string[] | undefined> = new Map([
  ['container', undefined],
  ['docker', ['docker']],
  ['podman', ['podman']],
  ['containerd', ['nerdctl', 'crictl']],
  ['crio', ['crictl']],
  ['kubernetes', ['crictl', 'nerdctl', 'docker']],
  ['lxc', []],
  ['nspawn', []],
])

const PREFIX = new RegExp(`^(?:k8s|${[...ASKED.keys()].join('|')}):`)
// The client would parse a name that begins with `-` as an option.
const CONTAINER = /^([a-z]+):([a-z0-9][\w.-]*)$/i
const POD = /^k8s:([a-z0-9][a-z0-9-]*)\/([a-z0-9][a-z0-9.-]*)(?:\/([a-z0-9][a-z0-9-]*))?$/

export interface ContainerName {
  /** Name or id. */
  readonly name: string
  /** Clients to run; undefined for all. */
  readonly asked: readonly string[] | undefined
}

export interface PodName {
  readonly namespace: string
  readonly pod: string
  /** Name of the container; undefined for all containers of the pod. */
  readonly container: string | undefined
}

/** Whether the text has the prefix of a container name, even if the rest is malformed. */
export function isContainerName(text: string): boolean {
  return PREFIX.test(text)
}

/** Returns undefined for a malformed name. */
export function parseContainerName(text: string): ContainerName | PodName | undefined {
  const [, namespace, pod, container] = POD.exec(text) ?? []
  if (namespace !== undefined && pod !== undefined) return { namespace, pod, container }
  const [, kind, name] = CONTAINER.exec(text) ?? []
  if (kind === undefined || name === undefined || !ASKED.has(kind)) return undefined
  return { name, asked: ASKED.get(kind) }
}
