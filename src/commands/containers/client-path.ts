// Finds the file to run as a client: the first of its name on the PATH. When jfluid runs as root, only root may be able to create or change
// that file. Otherwise a user who puts a `docker` into a directory on root's PATH would become root as soon as root profiles a container.

import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { EX_NOPERM, JfluidError } from '../../base/errors.ts'

/** Root would run a file that another user has created or may change. */
export class ClientOfAnotherUser extends JfluidError {
  static sample = () => new ClientOfAnotherUser('/opt/tools/docker', '/opt/tools')
  readonly exitCode = EX_NOPERM
  readonly hint =
    'Make root the owner of the file and of its directory, both writable for root only; or remove the directory from the PATH of root.'
  constructor(file: string, changeable: string) {
    super(`jfluid does not run ${file} as root: users other than root can change ${changeable}`)
  }
}

/**
 * Returns the path of a client; undefined if there is none. Skips relative directories. Also skips empty PATH entries, which mean the
 * current directory.
 *
 * @throws ClientOfAnotherUser
 */
export function clientPath(
  name: string,
  path = process.env.PATH ?? '',
  isRoot = process.geteuid?.() === 0,
): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue
    const file = join(folder, name)
    if (!isProgram(file)) continue
    const changeable = isRoot ? changeableByOthers(file) : undefined
    if (changeable !== undefined) throw new ClientOfAnotherUser(file, changeable)
    return file
  }
  return undefined
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

// Group write permission is allowed, since root decides who is in the group: on Debian, /usr/local is writable for the group staff.
const WRITABLE_BY_ALL = 0o002

/**
 * Checks the directory of the name, the file, and the directory of a link's target. Returns the first path that other users can change.
 * Does not check write permissions of directories further up.
 */
function changeableByOthers(file: string): string | undefined {
  const real = realpathSync(file)
  return [dirname(file), real, dirname(real)].find((it) => {
    const { uid, mode } = statSync(it)
    return uid !== 0 || (mode & WRITABLE_BY_ALL) !== 0
  })
}
