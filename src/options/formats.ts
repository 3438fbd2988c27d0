/** What a profile can be exported to: of `export/formats.ts`, which is imported when it is used; a test holds them to be the same. */
export const FORMAT_NAMES = [
  'json',
  'csv',
  'collapsed',
  'speedscope',
  'pprof',
  'callgrind',
  'nps',
  'firefox',
  'markdown',
  'html',
  'trace-events',
] as const
