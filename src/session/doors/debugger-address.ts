// Where a JVM takes a debugger.

export interface DebuggerAddress {
  readonly host: string
  readonly port: number
}

export const textOf = ({ host, port }: DebuggerAddress): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
