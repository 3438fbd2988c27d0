// Shells that complete `jfluid`, in a directory with some files.

import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'

const directory = temporaryDirectory('jfluid-shells-')
const bin = join(directory, 'bin')
const cwd = join(directory, 'files')
for (const it of [bin, cwd]) mkdirSync(it)
symlinkSync(cli, join(bin, 'jfluid'))
for (const name of ['p.jfluid', 'p.json', 'with blank.jfluid']) writeFileSync(join(cwd, name), '')

function ask(shell: string, args: readonly string[]): string {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  return execFileSync(shell, args, { cwd, env, encoding: 'utf8' })
}

/**
 * Returns the completions that bash would offer. Calls the function as bash's `complete` does.
 *
 * @param script  output of `jfluid completion bash`
 */
export function inBash(script: string, ...words: string[]): string[] {
  const text = ask('bash', [
    ...['--norc', '-c'],
    `
      ${script}
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"
      _jfluid
      printf '%s\\n' "\${COMPREPLY[@]}"`,
    ...['bash', 'jfluid', ...words],
  ])
  return text.split('\n').filter((line) => line !== '')
}

export function inZsh(...words: string[]): string {
  const script = `
    autoload -U compinit; compinit -u -d ${join(bin, 'dump')}
    eval "$(jfluid completion zsh)"
    _describe() { print -l -- "\${(P@)3}" }
    _files() { print -l -- "files $*" }
    words=(jfluid "$@"); CURRENT=$#words
    _jfluid`
  return ask('zsh', ['-f', '-c', script, 'zsh', ...words])
}

export function inFish(line: string): string {
  return ask('fish', ['-N', '-c', `jfluid completion fish | source; complete -C '${line}'`])
}
