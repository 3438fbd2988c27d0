// Ids of waits: if waits are recorded, a wait is a call of a pseudo method. Real methods have ids above all of these.
//
//   id            pseudo method
//     1           (sleeping)
//     2           (parked), for an object that is not known
//     3           (waiting), for an object of one class too many
//     4 … 127     (waiting on …), (parked on …): a class each, in the order they are first waited for
//   128           (blocked), on a monitor of one class too many
//   129 … 255     (blocked on …): a class each
//   256 …         methods
//
// The agent's message `waited` reports the class of an id.

export const WAIT_SLEEPING = 1
export const WAIT_PARKED = 2
export const BLOCKED_OTHER = 128
export const FIRST_BLOCKED_CLASS = 129
export const FIRST_METHOD_BESIDE_WAITS = 256

/** First method id if waits are not recorded. */
export const FIRST_METHOD = 1
