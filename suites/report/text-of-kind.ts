/** A sentence for each kind of a union; the compiler names the kinds that have none. */
export type TextOfKind<Union extends { kind: string }> = {
  readonly [kind in Union['kind']]: (one: Extract<Union, { kind: kind }>) => string
}

export function textOfKind<Union extends { kind: string }>(texts: TextOfKind<Union>, one: Union): string {
  const write = texts[one.kind as Union['kind']] as (one: Union) => string
  return write(one)
}
