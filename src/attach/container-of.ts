// What container a process is in, by the path of its control group: who makes containers puts an id, or a name, into it.
//
//   0::/system.slice/docker-<64 hex>.scope                     Docker with systemd; also a line for each controller (version 1)
//   0::/docker/<64 hex>                                        Docker without
//   0::/machine.slice/libpod-<64 hex>.scope                    Podman; a scope below it may be called container
//   0::/kubepods.slice/…/cri-containerd-<64 hex>.scope         Kubernetes with containerd; crio- with CRI-O
//   0::/kubepods/burstable/pod<uid>/<64 hex>                   Kubernetes without systemd
//   0::/lxc.payload.<name>   0::/lxc/<name>                    LXC
//   0::/machine.slice/machine-<name>.scope                     systemd-nspawn; the name is escaped as systemd's are
//
// A process in a control group namespace of ours or below shows a path below it: from inside, one's own container is not told.

import { textOf } from '../base/visible.ts'

export interface ContainerOf {
  /** docker, podman, containerd, crio, kubernetes, lxc, nspawn; container: some other. */
  readonly runtime: string
  /** An id of 64 hexadecimal digits, or a name. */
  readonly id: string
}

const BY_ID = /(?:^|\/)(?:([a-z-]+)-)?([0-9a-f]{64})(?:\.scope)?(?=\/|$)/g
const RUNTIMES: ReadonlyMap<string, string> = new Map([
  ['docker', 'docker'],
  ['libpod', 'podman'],
  ['cri-containerd', 'containerd'],
  ['nerdctl', 'containerd'],
  ['crio', 'crio'],
])

/** @param cgroup  text of /proc/<pid>/cgroup */
export function parseContainerOf(cgroup: string): ContainerOf | undefined {
  for (const line of cgroup.split('\n')) {
    const path = /^\d+:[^:]*:(.*)$/.exec(line)?.[1] ?? ''
    // The innermost: a node of Kubernetes may be a container itself.
    const [, prefix = '', id] = [...path.matchAll(BY_ID)].at(-1) ?? []
    if (id !== undefined) return { runtime: RUNTIMES.get(prefix) ?? runtimeOf(path), id }
    const lxc = /\/lxc(?:\.payload\.|\/)([^/]+)/.exec(path)?.[1]
    if (lxc !== undefined) return { runtime: 'lxc', id: lxc }
    const machine = /\/machine-([^/]+)\.scope/.exec(path)?.[1]
    if (machine !== undefined) return { runtime: 'nspawn', id: unescapeUnit(machine) }
  }
  return undefined
}

function runtimeOf(path: string): string {
  if (/\/docker\//.test(path)) return 'docker'
  return /\/kubepods/.test(path) ? 'kubernetes' : 'container'
}

/** systemd writes bytes that a unit's name may not have as \x2d. */
function unescapeUnit(name: string): string {
  return name.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Undefined as well where the kernel has no control groups, or the process has ended. */
export function containerOf(pid: number): ContainerOf | undefined {
  return parseContainerOf(textOf(`/proc/${pid}/cgroup`) ?? '')
}

/** As a user reads it and may give it: `docker:3f2a91c0bd1e`, of an id the 12 digits that everybody shows. */
export function containerLabel({ runtime, id }: ContainerOf): string {
  return `${runtime}:${/^[0-9a-f]{64}$/.test(id) ? id.slice(0, 12) : id}`
}
