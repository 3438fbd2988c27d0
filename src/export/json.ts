// The whole profile as JSON, `jfluid-profile` version 1 (see profile/json.ts).

import { jsonPieces } from '../profile/json.ts'
import type { ExportFormat } from './format.ts'

export const json: ExportFormat = {
  name: 'json',
  extension: '.json',
  description: 'everything, documented in docs/profile-json.md; trees per thread and merged',
  saysRegions: true,
  pieces: jsonPieces,
}
