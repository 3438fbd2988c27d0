// JVMs by the container they are in: `container:NAME` and `k8s:namespace/pod[/container]`.

import { EX_USAGE, JfluidError } from '../../base/errors.ts'
import { Clients } from './clients.ts'
import { containersNamed } from './engines.ts'
import type { IsInside } from './inside.ts'
import { containersOfPod } from './pods.ts'

export class BadContainerName extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'It is container:name, container:id, k8s:namespace/pod or k8s:namespace/pod/container.'
  constructor(text: string) {
    super(`'${text}' names no container`)
  }
}

// What begins with - would be an option to the client that is asked.
const CONTAINER = /^container:([a-z0-9][\w.-]*)$/i
const POD = /^k8s:([a-z0-9][a-z0-9-]*)\/([a-z0-9][a-z0-9.-]*)(?:\/([a-z0-9][a-z0-9-]*))?$/

/**
 * Asks whom it takes.
 *
 * @throws BadContainerName, and what `containersNamed` and `containersOfPod` do
 */
export async function insideContainer(text: string): Promise<IsInside> {
  const clients = new Clients()
  const [, name] = CONTAINER.exec(text) ?? []
  if (name !== undefined) return await containersNamed(name, clients)
  const [, namespace, pod, container] = POD.exec(text) ?? []
  if (namespace === undefined || pod === undefined) throw new BadContainerName(text)
  return await containersOfPod({ namespace, pod, container }, clients)
}
