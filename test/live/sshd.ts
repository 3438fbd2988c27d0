// A real sshd on this machine, on a port of the loopback interface, with its own keys and configuration. No file of the system is read or
// changed. As root, sshd needs a directory in /run, and therefore gets a private /run.

import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { type Reached, sessionsOf } from './proxy.ts'
import { until } from './remains.ts'

const SSHD = '/usr/sbin/sshd'
/** Creates a private /run with the directory that sshd needs before a login (privsep-path of its configure script). */
const OWN_RUN = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"'

export interface SshMachine extends Reached {
  /** Returns the output of sshd. */
  log(): string
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/**
 * Starts an sshd that is reachable as host `there`.
 *
 * @throws Error if sshd is not installed
 */
export async function sshMachine(): Promise<SshMachine> {
  if (!existsSync(SSHD)) throw new Error(`no ${SSHD}: install openssh-server (it need not be started)`)
  const directory = temporaryDirectory('jfluid-sshd-')
  const tmp = temporaryDirectory('jfluid-proxy-tmp-')
  const file = (name: string): string => join(directory, name)
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)])
  copyFileSync(file('user.pub'), file('authorized'))
  const port = await freePort()
  writeFileSync(
    file('sshd_config'),
    `Port ${port}
ListenAddress 127.0.0.1
HostKey ${file('host')}
PidFile none
AuthorizedKeysFile ${file('authorized')}
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
`,
  )
  writeFileSync(file('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(file('host.pub'), 'utf8')}`)
  writeFileSync(
    file('ssh_config'),
    `Host there
  HostName 127.0.0.1
  Port ${port}
  User ${userInfo().username}
  IdentityFile ${file('user')}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile ${file('known_hosts')}
  StrictHostKeyChecking yes
`,
  )
  writeFileSync(file('ssh'), `#!/bin/sh\nexec ssh -F '${file('ssh_config')}' "$@"\n`)
  chmodSync(file('ssh'), 0o755)

  const logs: JavaProcess[] = []
  const start = async (): Promise<JavaProcess> => {
    const words = [SSHD, '-D', '-e', '-f', file('sshd_config')]
    const [program, ...args] =
      process.getuid?.() === 0
        ? ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', OWN_RUN, 'sh', ...words]
        : words
    const server = startProcess(program!, args)
    logs.push(server)
    await until(() => /Server listening/.test(server.stderr()) || server.child.exitCode !== null)
    if (server.child.exitCode !== null) throw new Error(`sshd has ended: ${server.stderr()}`)
    return server
  }
  let server = await start()
  return {
    env: {
      JFLUID_SSH: file('ssh'),
      JFLUID_PROXY_COMMAND: `env TMPDIR='${tmp}' '${process.execPath}' '${cli}' proxy --stdio --grace 30s`,
    },
    tmp,
    cut: () => killAll(childrenOf(server.pid)),
    goDown() {
      // Each accepted connection has a separate process.
      const children = childrenOf(server.pid)
      server.child.kill('SIGKILL')
      killAll(children)
    },
    async comeUp() {
      server = await start()
    },
    sessions: () => sessionsOf(tmp),
    log: () => logs.map((each) => each.stderr()).join(''),
  }
}

/** Returns the processes of accepted connections. */
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) process.kill(pid, 'SIGKILL')
}
