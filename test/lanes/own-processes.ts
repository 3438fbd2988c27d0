// Processes started by a test file end with the file. This setup runs before the file's own hooks. At the end the order is reversed,
// so the file's own hooks still find its processes and directories.

import { afterAll } from 'vitest'
import { endProcesses } from '../support/java-process.ts'

afterAll(endProcesses)
