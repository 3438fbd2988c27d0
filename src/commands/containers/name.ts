// How containers are called: container:NAME, as `jfluid ps` shows them (docker:3f2a91c0bd1e), and k8s:namespace/pod[/container].

/** Who is asked about one of that kind, undefined for all; the others are in control groups by their names or ids. */
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
// What begins with - would be an option to the client that is asked.
const CONTAINER = /^([a-z]+):([a-z0-9][\w.-]*)$/i
const POD = /^k8s:([a-z0-9][a-z0-9-]*)\/([a-z0-9][a-z0-9.-]*)(?:\/([a-z0-9][a-z0-9-]*))?$/

export interface ContainerName {
  /** Or an id. */
  readonly name: string
  /** The clients to be asked; undefined: all. */
  readonly asked: readonly string[] | undefined
}

export interface PodName {
  readonly namespace: string
  readonly pod: string
  /** Undefined: any of its containers. */
  readonly container: string | undefined
}

/** Whether it means a container, well written or not. */
export function isContainerName(text: string): boolean {
  return PREFIX.test(text)
}

/** Undefined if it is not well written. */
export function parseContainerName(text: string): ContainerName | PodName | undefined {
  const [, namespace, pod, container] = POD.exec(text) ?? []
  if (namespace !== undefined && pod !== undefined) return { namespace, pod, container }
  const [, kind, name] = CONTAINER.exec(text) ?? []
  if (kind === undefined || name === undefined || !ASKED.has(kind)) return undefined
  return { name, asked: ASKED.get(kind) }
}
