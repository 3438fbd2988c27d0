// Schemes that decide which part of a call subgraph is instrumented.

/**
 * `a` instruments all statically reachable methods at once. `b` instruments the possible callees of a method when the method is first
 * called (JFluid report, section 6). `adaptive` instruments the roots, and below the roots the methods in which samples show time.
 */
export const SCHEMES = ['a', 'b', 'adaptive'] as const
export type Scheme = (typeof SCHEMES)[number]

/** Values of the option --scheme. `auto` selects b if b would instrument few methods and classes of the program, otherwise adaptive. */
export const SCHEME_CHOICES = ['auto', ...SCHEMES] as const
export type SchemeChoice = (typeof SCHEME_CHOICES)[number]

/** Default of --max-overhead, as a fraction of the time of the roots. */
export const DEFAULT_MAX_OVERHEAD = 0.05
