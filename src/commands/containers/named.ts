// Selects JVMs by their container: `container:NAME` and `k8s:namespace/pod[/container]`.

import { UsageError } from '../../base/errors.ts'
import { Clients } from './clients.ts'
import { containersNamed } from './engines.ts'
import { parseContainerName } from './name.ts'
import { containersOfPod } from './pods.ts'
import type { IsInside } from './processes.ts'

export class BadContainerName extends UsageError {
  static sample = () => new BadContainerName('container:')
  readonly hint = 'Write container:name, container:id, k8s:namespace/pod or k8s:namespace/pod/container.'
  constructor(text: string) {
    super(`'${text}' is not the name of a container`)
  }
}

/**
 * Runs the necessary clients.
 *
 * @throws BadContainerName, and errors of `containersNamed` and `containersOfPod`
 */
export async function insideContainer(text: string): Promise<IsInside> {
  const meant = parseContainerName(text)
  if (meant === undefined) throw new BadContainerName(text)
  const clients = new Clients()
  try {
    if ('pod' in meant) return await containersOfPod(meant, clients)
    return await containersNamed(meant.name, clients, meant.asked)
  } finally {
    clients.close()
  }
}
