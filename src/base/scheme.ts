// How a call subgraph is revealed.

/**
 * `a` takes all that can be reached at once, `b` what methods that were called can reach (JFluid report, section 6); `adaptive` takes the
 * roots, and below them what samples have shown to take time.
 */
export const SCHEMES = ['a', 'b', 'adaptive'] as const
export type Scheme = (typeof SCHEMES)[number]

/** What may be asked for. `auto` takes b where that is harmless, and adaptive elsewhere. */
export const SCHEME_CHOICES = ['auto', ...SCHEMES] as const
export type SchemeChoice = (typeof SCHEME_CHOICES)[number]
