// A PATH without Java: a folder that contains Java is replaced by a folder with links to its other files.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { isOfJdk } from './of-jdk.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    pathWithoutJava: string
  }
}

export default function setup(project: TestProject): () => void {
  const links = mkdtempSync(join(tmpdir(), 'jfluid-path-'))
  const folders = (process.env.PATH ?? '').split(delimiter).filter((it) => it !== '' && existsSync(it))
  const path = folders.map((folder, i) => {
    const names = readdirSync(folder)
    if (!names.some(isOfJdk)) return folder
    const without = join(links, String(i))
    mkdirSync(without)
    for (const name of names) if (!isOfJdk(name)) symlinkSync(join(folder, name), join(without, name))
    return without
  })
  project.provide('pathWithoutJava', path.join(delimiter))
  return () => rmSync(links, { recursive: true })
}
