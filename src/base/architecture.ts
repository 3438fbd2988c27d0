/**
 * Returns a warning if jfluid is not tested on a processor; null on x86-64.
 *
 * @param architecture  as in `process.arch`
 */
export function untestedArchitecture(architecture: string): string | null {
  if (architecture === 'x64') return null
  const tried = architecture === 'arm64' ? '; on AArch64 it was tried by emulation' : ''
  return `jfluid is not tested on processors of the architecture ${architecture}, only on x86-64${tried}`
}
