// The commands, their arguments and their implementation. Their options are declared in `options/`.

import { Argument, Command } from 'commander'
import { measureEarly } from '../attach/processors.ts'
import { COMMANDS, type CommandName } from '../options/option.ts'
import { withOptions } from '../options/parser.ts'
import { checkOwnOptions } from '../options/refusals.ts'
import { RootsRemoved } from '../options/removed.ts'
import type { Flags } from '../options/table.ts'
import { describeAgent } from '../session/doors/agent-jar.ts'
import { withConfigFile, withShowConfig } from './config.ts'
import { EXAMPLES, exampleText, firstExamples } from './examples.ts'
import { checkPlatform } from './platform.ts'
import { say } from './say.ts'
import { SCRIPTS, SHELLS, type Shell } from './shell/scripts.ts'

const PID_HELP =
  'process id or main class of the JVM, container:name or k8s:namespace/pod; if omitted, jfluid shows a list on a terminal'

const print = (text: string): void => void process.stdout.write(text)

/**
 * Builds the command line. Each command is imported only when it runs: loading React for the JVM picker must not slow down `attach`.
 *
 * @param version  version of the package
 */
export function commandLine(version: string): Command {
  const program = new Command('jfluid')
    .description('Profile one task of a running JVM: attach, show its exact calling context tree, detach.')
    .version(
      `jfluid ${version}\n${describeAgent()}`,
      '-V, --version',
      'print the versions of jfluid and of its agent',
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

  command('ps', 'list the JVMs of this machine, and whether jfluid can attach to each').action(
    async (flags: Flags<'ps'>) => (await import('./ps.ts')).ps(flags, print),
  )

  command('doctor', 'check whether an attach would work, without changing the JVM')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'doctor'>) => {
      const { doctor } = await import('./doctor.ts')
      process.exitCode = await doctor(pid, flags, print)
    })

  command('why', 'sample a JVM for some seconds and say why its requests take their time')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'why'>) =>
      (await import('./why.ts')).why(pid, flags, print),
    )

  command('threads', 'print the stacks of all threads, grouped, with states, locks and deadlocks')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'threads'>) =>
      (await import('./threads.ts')).threads(pid, flags, print),
    )

  command('attach', 'profile a root method and show its calling context tree live')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'attach'>) => {
      measureEarly(pid)
      await (await import('./attach.ts')).attach(pid, flags, print)
    })

  command('record', 'profile for a given time without the live view, and write or push the profile')
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'record'>) => {
      measureEarly(pid)
      await (await import('./record.ts')).record(pid, flags)
    })

  command('proxy', 'let jfluid on another machine attach to JVMs of this machine').action(
    async (flags: Flags<'proxy'>) => (await import('./proxy.ts')).proxy(flags),
  )

  command(
    'detach',
    'end the session of a jfluid process that hangs or is stopped, and remove leftovers of ended ones',
  )
    .argument('[pid]', PID_HELP)
    .action(async (pid: string | undefined, flags: Flags<'detach'>) =>
      (await import('./detach.ts')).detach(pid, flags, print),
    )

  command('run', 'start a JVM and profile it from its first application class')
    .argument('<command...>', 'command to start, after --')
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

  command('gate', 'for continuous integration: fail if a task executes more than its baseline')
    .argument('<baseline>', 'a .jfluid file of --mode bytecodes or count')
    .argument(
      '[other...]',
      'another .jfluid file; or, after --, a command to run and profile with the options of the baseline',
    )
    .action(async (baseline: string, other: string[], flags: Flags<'gate'>) =>
      (await import('./gate.ts')).gate(baseline, other, flags, print),
    )

  command('open', 'show a recorded profile in the live view')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'open'>) => (await import('./open.ts')).open(file, flags))

  command('compare', 'compare two profiles per root call')
    .argument('[before]', 'a .jfluid file')
    .argument('[after]', 'another .jfluid file of the same --mode')
    .action(async (before: string | undefined, after: string | undefined, flags: Flags<'compare'>) =>
      (await import('./compare.ts')).compare(before, after, flags),
    )

  command('report', 'print a recorded profile as text')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'report'>) => (await import('./report.ts')).report(file, flags))

  command('export', 'convert a recorded profile for other tools')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'export'>) =>
      (await import('./export.ts')).exportCommand(file, flags),
    )

  command('push', 'send a recorded profile to a profile server')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string, flags: Flags<'push'>) =>
      (await import('./push.ts')).pushCommand(file, flags),
    )

  command(
    'mcp',
    'let an assistant list JVMs and read profiles (Model Context Protocol, standard input and output)',
  )
    .addHelpText(
      'after',
      `
An assistant starts the command and ends it by closing its standard input. The
chapter docs/assistants.md has the configuration and all tools. Without
--allow-attach no tool touches a JVM.`,
    )
    .action(async (flags: Flags<'mcp'>) => (await import('./mcp.ts')).mcp(flags))

  command('agent-path', 'print the JVM option that preloads the agent')
    .addHelpText(
      'after',
      `
The standard output has only this option, for scripts. A JVM started with it has
no jfluid thread and no session; attach and record later activate the agent and
load nothing, so they work with -XX:-EnableDynamicAgentLoading, and newer JDKs
print no warning. A JVM that cannot find or read the agent file does not start:
do not move or delete the file.

Put the option on a command line before -jar, or into JAVA_TOOL_OPTIONS for all
JVMs: an Environment= line of a systemd unit, an ENV line of a container image.`,
    )
    .action(async () => (await import('./agent-path.ts')).agentPath(print))

  command('completion', 'print a shell script that completes commands, options and process ids')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(SHELLS))
    .action((shell: Shell) => print(SCRIPTS[shell]))

  command('man', 'print the manual page').action(async () =>
    print((await import('./shell/manual.ts')).manual(program, version)),
  )

  program
    .command('roots', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(() => {
      throw new RootsRemoved()
    })

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
