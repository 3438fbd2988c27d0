// What a test file has started ends with it. Set up for each file, which runs before its own hooks: they are the other way round at
// the end, so the file's own hooks still find its processes and directories.

import { afterAll } from 'vitest'
import { endProcesses } from '../support/java-process.ts'

afterAll(endProcesses)
