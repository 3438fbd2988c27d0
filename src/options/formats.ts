/** Names of the export formats. `export/formats.ts` is imported lazily, so its names are repeated here; a test compares the two lists. */
export const FORMAT_NAMES = [
  'json',
  'csv',
  'collapsed',
  'speedscope',
  'pprof',
  'markdown',
  'html',
  'svg',
  'trace-events',
] as const
