// Minimum terminal size of the live view.

export const SMALLEST_COLUMNS = 80
export const SMALLEST_ROWS = 24

export function isTooSmall(screen: { readonly columns: number; readonly rows: number }): boolean {
  return screen.columns < SMALLEST_COLUMNS || screen.rows < SMALLEST_ROWS
}
