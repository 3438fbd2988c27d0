// jfluid proxy: sessions with JVMs of this machine, for clients on other machines.

import { fileURLToPath } from 'node:url'
import { UsageError } from '../base/errors.ts'
import { builtFile, packageVersion } from '../base/package-root.ts'
import type { Flags } from '../options/table.ts'
import { Host, type HostOptions } from '../remote/host.ts'
import { bridge, serveSession } from '../remote/stdio.ts'
import { HostedSession } from './hosted-session.ts'
import { signalStatus, stopSignal } from './signals.ts'

export class ProxyNeedsWay extends UsageError {
  static sample = () => new ProxyNeedsWay()
  readonly hint =
    'Add --listen [address:]port. With ssh the client starts the proxy: jfluid attach ssh://host/<pid>'
  constructor() {
    super('the proxy needs --stdio or --listen, so that clients can connect')
  }
}

const cli = fileURLToPath(builtFile('cli.js'))

export async function proxy({ grace: graceMs, ...flags }: Flags<'proxy'>): Promise<void> {
  const version = packageVersion()
  const host = (told: Pick<HostOptions, 'onOpen' | 'onEmpty' | 'onProblem'>): Host =>
    new Host({ version, graceMs, open: () => new HostedSession(), ...told })
  if (flags.session !== undefined) {
    // At a shutdown of the machine, a signal arrives: the proxy then detaches from the JVM.
    const stop = stopSignal()
    await serveSession(flags.session, host, graceMs, stop.fired)
    stop.dispose()
    if (stop.signal !== null) process.exit(signalStatus(stop.signal))
  } else if (flags.stdio === true && flags.listen === undefined)
    await bridge(process.stdin, process.stdout, version, [
      cli,
      'proxy',
      '--grace',
      `${graceMs}ms`,
      '--session',
    ])
  else if (flags.listen !== undefined && flags.stdio !== true) {
    const { listenForClients } = await import('./proxy-listen.ts')
    await listenForClients(flags.listen, flags.keyFile, host)
  } else throw new ProxyNeedsWay()
}
