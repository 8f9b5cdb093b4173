/** Milliseconds of the local clock between which something happened or will happen. */
export interface Span {
  readonly from: number
  readonly to: number
}
