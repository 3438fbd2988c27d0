// The commands, their arguments and their implementation. Their options are declared in `options/`.

import { Argument, Command } from 'commander'
import { COMMANDS, type CommandName } from '../options/option.ts'
import { withOptions } from '../options/parser.ts'
import { checkOwnOptions } from '../options/refusals.ts'
import type { Flags } from '../options/table.ts'
import { describeAgent } from '../session/doors/agent-jar.ts'
import { withConfigFile, withShowConfig } from './config.ts'
import { EXAMPLES, exampleText, firstExamples } from './examples.ts'
import { checkPlatform } from './platform.ts'
import { say } from './say.ts'
import { SCRIPTS, SHELLS, type Shell } from './shell/scripts.ts'

const PID_HELP =
  'process id of the JVM, its main class, container:name or k8s:namespace/pod; without it, a terminal asks which'

const print = (text: string): void => void process.stdout.write(text)

/**
 * Builds the command line. Each command is imported only when it runs: loading React for the JVM picker must not slow down `attach`.
 *
 * @param version  version of the package
 */
export function commandLine(version: string): Command {
  const program = new Command('jfluid')
    .description('Profile one task of a running JVM: attach, watch its exact calling context tree, detach.')
    .version(
      `jfluid ${version}\n${describeAgent()}`,
      '-V, --version',
      'of jfluid, and of the agent it carries',
    )
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'jfluid: ')) })
    .showHelpAfterError('(add --help for the options)')
    .addHelpText('after', exampleText(firstExamples()))
    .hook('preAction', async (_, command) => {
      const name = COMMANDS.find((it) => it === command.name())
      if (name === undefined) return
      await withConfigFile(command, name, print, say)
      checkPlatform(name, command.args[0], process.platform)
      checkOwnOptions(name, command.opts())
    })
  const command = (name: CommandName, says: string): Command =>
    withShowConfig(withOptions(program.command(name).description(says), name))

  command('ps', 'list JVMs and whether they can be attached to').action(async (flags: Flags<'ps'>) =>
    (await import('./ps.ts')).ps(flags, print),
  )

  command('doctor', 'say what an attach would meet, before anything is touched')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'doctor'>) => {
      const { doctor } = await import('./doctor.ts')
      process.exitCode = await doctor(pid, flags, print)
    })

  command('roots', 'sample a JVM for some seconds, and say which methods would do as --root')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'roots'>) =>
      (await import('./roots.ts')).roots(pid, flags, print),
    )

  command('attach', 'show the calling context tree of a root method, live')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'attach'>) =>
      (await import('./attach.ts')).attach(pid, flags),
    )

  command('record', 'profile for a while without a screen, and write or push the profile')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'record'>) =>
      (await import('./record.ts')).record(pid, flags),
    )

  command('proxy', 'let jfluid on another machine attach to JVMs of this one').action(
    async (flags: Flags<'proxy'>) => (await import('./proxy.ts')).proxy(flags),
  )

  command('detach', 'end a session whose jfluid hangs or is stopped, and remove what dead ones have left')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'detach'>) =>
      (await import('./detach.ts')).detach(pid, flags, print),
    )

  command('run', 'start a JVM and profile it from its first application class on')
    .argument('<command...>', 'what to start, after --')
    .passThroughOptions()
    .action(async (command: string[], flags: Flags<'run'>) => {
      const { run } = await import('./run.ts')
      const { keepStatus } = await import('./signals.ts')
      try {
        process.exitCode = await run(command, flags)
      } finally {
        keepStatus() // not inside `run`, since `gate` continues after a `run`
      }
    })

  command('gate', 'fail if a task executes more than its baseline: for continuous integration')
    .argument('<baseline>', 'a .jfluid file of --mode bytecodes or count')
    .argument('[other...]', 'another .jfluid file; or after --, what to run and profile as the baseline was')
    .action(async (baseline: string, other: string[], flags: Flags<'gate'>) =>
      (await import('./gate.ts')).gate(baseline, other, flags, print),
    )

  command('open', 'look at a recorded profile in the live view')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string) => (await import('./open.ts')).open(file))

  command('compare', 'what has changed between two profiles, per root call')
    .argument('<before>', 'a .jfluid file')
    .argument('<after>', 'another one of the same --mode')
    .action(async (before: string, after: string, flags: Flags<'compare'>) =>
      (await import('./compare.ts')).compare(before, after, flags),
    )

  command('report', 'what a recorded profile says')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'report'>) => (await import('./report.ts')).report(file, flags))

  command('export', 'write a recorded profile for other tools')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'export'>) =>
      (await import('./export.ts')).exportCommand(file, flags),
    )

  command('push', 'hand a recorded profile to a store of profiles')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'push'>) =>
      (await import('./push.ts')).pushCommand(file, flags),
    )

  command('agent-path', 'print the option that has a JVM start with the agent asleep in it')
    .addHelpText(
      'after',
      `
It is all that goes to the standard output, for scripts. A JVM that is started
with it has no thread of jfluid and no session; attach and record then wake the
agent and load nothing, so -XX:-EnableDynamicAgentLoading does not matter, and
newer JDKs do not warn. A JVM that does not find the file, or may not read it,
does not start: mind what happens to it.

On a command line before -jar, or for all JVMs in JAVA_TOOL_OPTIONS: an
Environment= line of a systemd unit, an ENV line of an image.`,
    )
    .action(async () => (await import('./agent-path.ts')).agentPath(print))

  command('completion', 'print what makes a shell complete commands, options and process ids')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action((shell: Shell) => print(SCRIPTS[shell]))

  command('man', 'print the manual page').action(async () =>
    print((await import('./shell/manual.ts')).manual(program, version)),
  )

  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(async (words: string[]) => {
      const { complete, completionText } = await import('./shell/complete.ts')
      print(completionText(await complete(program, words)))
    })

  for (const command of program.commands)
    command.addHelpText('after', exampleText(EXAMPLES[command.name()] ?? []))
  return program
}
