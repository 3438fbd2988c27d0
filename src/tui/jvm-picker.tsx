// JVM picker, drawn by ink below the previous terminal output. Imported lazily, since the import takes most of a second.

import { Box, render, Text, useApp, useInput, useStdout } from 'ink'
import { type JSX, useEffect, useState } from 'react'
import { JvmList, type JvmRow, jvmLines } from './jvm-list.ts'

/** Refresh interval of the JVM list and of CPU use. */
const REFRESH_INTERVAL_MS = 1000
/** Maximum number of rows. The limit keeps some of the previous terminal output visible. */
const MAX_ROWS = 12
/** Number of lines above and below the rows: prompt, head, hint, margin. */
const OTHER_LINES = 5

export interface PickedJvm {
  /** Process id of the chosen JVM; null if the user quit without a choice. */
  readonly pid: number | null
}

/**
 * Asks for a JVM, and restores the terminal after the answer.
 *
 * @param look  returns the running JVMs
 */
export async function pickJvm(look: () => readonly JvmRow[]): Promise<PickedJvm> {
  let pid: number | null = null
  const app = render(
    <Picker
      look={look}
      onPick={(picked) => {
        pid = picked
      }}
    />,
    { exitOnCtrlC: false, patchConsole: false },
  )
  await app.waitUntilExit()
  // Ink no longer reads stdin. A paused stdin does not keep the process alive. The live view can resume stdin.
  process.stdin.pause()
  process.stdin.ref()
  return { pid }
}

interface PickerProps {
  readonly look: () => readonly JvmRow[]
  readonly onPick: (pid: number) => void
}

function Picker({ look, onPick }: PickerProps): JSX.Element {
  const { exit } = useApp()
  const { stdout } = useStdout()
  const [list] = useState(() => {
    const made = new JvmList()
    made.rows = look()
    return made
  })
  const [notice, setNotice] = useState('')
  const [isOver, end] = useState(false)
  const [, draw] = useState(0)

  useEffect(() => {
    const timer = setInterval(() => {
      list.rows = look()
      draw((it) => it + 1)
    }, REFRESH_INTERVAL_MS)
    const redraw = (): void => draw((it) => it + 1)
    stdout.on('resize', redraw)
    return () => {
      clearInterval(timer)
      stdout.off('resize', redraw)
    }
  }, [list, look, stdout])

  // Exits only after an empty frame has erased the list.
  useEffect(() => {
    if (isOver) exit()
  }, [isOver, exit])

  const take = (): void => {
    const { selected } = list
    if (selected?.attachable === true) {
      onPick(selected.pid)
      end(true)
    } else if (selected !== undefined) setNotice(`cannot attach to ${selected.pid}: ${selected.attachable}`)
  }

  useInput((input, key) => {
    setNotice('')
    if (key.escape || (key.ctrl && (input === 'c' || input === 'd'))) end(true)
    else if (key.return) take()
    else if (key.upArrow) list.move(-1)
    else if (key.downArrow || key.tab) list.move(1)
    else if (key.pageUp) list.move(-MAX_ROWS)
    else if (key.pageDown) list.move(MAX_ROWS)
    else if (key.backspace || key.delete) list.erase()
    else if (key.ctrl && input === 'u') list.clear()
    else if (input !== '' && !key.ctrl && !key.meta) {
      const wish = list.typeAll(input)
      if (wish === 'take') take()
      else if (wish === 'leave') end(true)
    }
    draw((it) => it + 1)
  })

  if (isOver) return <Box />
  const columns = stdout.columns || 80
  const room = Math.max(1, Math.min(MAX_ROWS, (stdout.rows || 24) - OTHER_LINES - 1))
  const { head, rows } = jvmLines(list, columns, room)
  const more = list.fitting.length - rows.length
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">
        <Text bold>Which JVM? </Text>
        <Text>{list.typed}</Text>
        <Text inverse> </Text>
      </Text>
      <Text underline wrap="truncate">
        {`  ${head}`}
      </Text>
      {rows.map(({ text, isAttachable, isSelected }) => (
        <Text key={text} inverse={isSelected} dimColor={!isAttachable} wrap="truncate">
          {`${isSelected ? '> ' : '  '}${text}`}
        </Text>
      ))}
      {rows.length === 0 && (
        <Text wrap="truncate">
          {list.all === 0 ? '  no JVM is running; checking every second' : '  no JVM matches'}
        </Text>
      )}
      <Text dimColor wrap="truncate">
        {notice !== ''
          ? `  ${notice}`
          : `  ${more > 0 ? `${more} more. ` : ''}Type to filter, Enter attaches, Esc quits`}
      </Text>
    </Box>
  )
}
