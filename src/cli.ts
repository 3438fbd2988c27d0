#!/usr/bin/env node
// Maps argv to a command. Only this file prints errors and exits.

import { beginDebugLog, debugLogProblem, noteInDebugLog } from './base/debug-log.ts'
import { packageVersion } from './base/package-root.ts'
import { failureOf } from './commands/failure.ts'
import { closeLostTerminals } from './commands/lost-terminals.ts'
import { commandLine } from './commands/program.ts'
import { makeNonBlocking } from './commands/stalled-terminals.ts'
import { cleanLines } from './profile/text.ts'

const program = commandLine(packageVersion())

program.hook('preAction', (_, command) => {
  if (command.name() !== '__complete') beginLog(command.name())
})

makeNonBlocking(process.stdout)
makeNonBlocking(process.stderr)
process.on('exit', (code) => {
  endLog(code)
  closeLostTerminals()
})
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` has closed the pipe.
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0)
  ignoreHangUp(error, process.stdout)
})
process.stderr.on('error', (error: NodeJS.ErrnoException) => ignoreHangUp(error, process.stderr))

/** Ignores errors of a closed terminal or pipe: detaching and saving the profile must continue. */
function ignoreHangUp(error: NodeJS.ErrnoException, terminal: { readonly isTTY?: boolean }): void {
  if (error.code !== 'EPIPE' && (error.code !== 'EIO' || terminal.isTTY !== true)) throw error
}

/** @throws UnknownDebugTopic, NoDebugLog */
function beginLog(command: string): void {
  const path = beginDebugLog(process.env)
  if (path === null) return
  // The arguments are not logged: a program's arguments may be secrets.
  const { arch, pid, platform, version } = process
  noteInDebugLog(
    `jfluid ${packageVersion()} ${command}, process ${pid}, Node.js ${version}, ${platform} ${arch}, ${new Date().toISOString()}`,
  )
  process.stderr.write(`jfluid: debug log in ${cleanLines(path)}\n`)
}

/** Logs the end, so that a truncated log is not mistaken for a session that ended early. */
function endLog(code: number): void {
  noteInDebugLog(`ends with ${code}`)
  const problem = debugLogProblem()
  if (problem !== null) process.stderr.write(`jfluid: the debug log is not complete: ${problem}\n`)
}

try {
  await program.parseAsync()
} catch (error) {
  const { text, log, exitCode } = failureOf(error)
  if (log !== '') noteInDebugLog(log)
  if (text !== '') process.stderr.write(text)
  process.exitCode = exitCode
}
