// Which file is run as a client: the first of its name on the PATH. As root it must be one that only root could have put there or changed:
// who leaves a `docker` in a directory that root's PATH happens to have would be root otherwise, as soon as somebody profiles a container.

import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { EX_NOPERM, JfluidError } from '../../base/errors.ts'

/** Root would run what another user has put there, or may change. */
export class ClientOfAnotherUser extends JfluidError {
  static sample = () => new ClientOfAnotherUser('/home/ann/bin/docker', '/home/ann/bin')
  readonly exitCode = EX_NOPERM
  readonly hint =
    'Have root own it and the directory it is in, and nobody else write there; or take that directory out of the PATH of root.'
  constructor(file: string, changeable: string) {
    super(`${file} is not run as root: others than root may change ${changeable}`)
  }
}

/**
 * The path of a client; undefined where there is none. Directories that are relative, of which the empty one is the current, are not looked
 * into.
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

// Whom a group has that may write is root's to say: /usr/local is staff's with Debian.
const WRITABLE_BY_ALL = 0o002

/** The first of: where its name is, it, and where it is if the name is a link. Whoever may write a directory further up is not looked for. */
function changeableByOthers(file: string): string | undefined {
  const real = realpathSync(file)
  return [dirname(file), real, dirname(real)].find((it) => {
    const { uid, mode } = statSync(it)
    return uid !== 0 || (mode & WRITABLE_BY_ALL) !== 0
  })
}
