// Ids of waits: if waits are recorded, a wait is a call of a pseudo method. Real methods have higher ids than all pseudo methods.
//
//   id            pseudo method
//     1           (sleeping)
//     2           (parked), for an unknown object
//     3           (waiting), if all ids from 4 to 127 are used
//     4 … 127     (waiting on …), (parked on …): one id per class, in the order of the first wait
//   128           (blocked), if all ids from 129 to 255 are used
//   129 … 255     (blocked on …): one id per class
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
