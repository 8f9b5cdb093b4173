/** Rules that are wrong at times, and what such a rule remembers. */
import { type Rules, rules as right } from '../../mock-server/rules.ts'
import type { ApiKey } from '../../mock-server/state.ts'
import type { Change, Seen } from './rows.ts'

type RuleName = Exclude<keyof Rules, 'methodMemberTaken'>

type Given<Name extends RuleName> = Parameters<Rules[Name]>

/** Rules that answer yes or no. */
type YesNo = { [Name in RuleName]: ReturnType<Rules[Name]> extends boolean ? Name : never }[RuleName]

const ruled = <Name extends RuleName>(name: Name, rule: (...given: Given<Name>) => unknown) =>
  ({ [name]: rule }) as unknown as Pick<Rules, Name>

const rightly = <Name extends RuleName>(name: Name, given: Given<Name>): unknown =>
  (right[name] as (...given: Given<Name>) => unknown)(...given)

/** A rule that also says yes where `more` does. */
export const also = <Name extends YesNo>(name: Name, more: (...given: Given<Name>) => boolean): Pick<Rules, Name> =>
  ruled(name, (...given) => rightly(name, given) === true || more(...given))

/** A rule that says no where `but` does. */
export const unless = <Name extends YesNo>(name: Name, but: (...given: Given<Name>) => boolean): Pick<Rules, Name> =>
  ruled(name, (...given) => rightly(name, given) === true && !but(...given))

/** The right rule, but every `count`-th time the wrong one. */
export const every =
  <Name extends RuleName>(count: number, name: Name, wrong: (...given: Given<Name>) => ReturnType<Rules[Name]>) =>
  (_seen: Seen, times = 0): Change =>
    ruled(name, (...given) => {
      times += 1
      return times % count === 0 ? wrong(...given) : rightly(name, given)
    })

/** What a rule has once agreed to, it agrees to again for a time wherever the place is the same; undefined is no place. */
export const agreesAgain =
  <Name extends RuleName>(
    name: Name,
    placeOf: (seen: Seen, ...given: Given<Name>) => string | number | undefined,
    forMs = Number.POSITIVE_INFINITY,
  ) =>
  (seen: Seen, agreedMs = new Map<string | number, number>()): Change =>
    ruled(name, (...given) => {
      const place = placeOf(seen, ...given)
      const agrees = rightly(name, given) === true
      if (place === undefined) return agrees
      if (agrees) agreedMs.set(place, seen.nowMs)
      const lastMs = agreedMs.get(place)
      return lastMs !== undefined && seen.nowMs - lastMs < forMs
    })

/** Counts what a rule refuses in a row at each place, and agrees after all to some of it; undefined is no place. */
export const inARow =
  <Name extends YesNo>(
    name: Name,
    placeOf: (seen: Seen, ...given: Given<Name>) => string | undefined,
    agreesTo: (refused: number) => boolean,
  ) =>
  (seen: Seen, refused = new Map<string, number>()): Change =>
    ruled(name, (...given) => {
      const place = placeOf(seen, ...given)
      const agrees = rightly(name, given) === true
      if (place === undefined) return agrees
      const count = agrees ? 0 : (refused.get(place) ?? 0) + 1
      refused.set(place, count)
      return agrees || agreesTo(count)
    })

/** The ways in which keys are made. */
const makings = {
  'by-token': ({ pair }) => pair !== undefined,
  'by-refreshed-token': ({ pair }) => (pair?.generation ?? 0) > 0,
  'in-session': ({ pair }) => pair?.session !== undefined,
  'by-signature': ({ isSigned }) => isSigned,
  'by-ecc': ({ byPublicKey }) => byPublicKey,
  'by-created-key': ({ caller }) => caller?.initial === false,
} satisfies { [way: string]: (seen: Seen) => boolean }

type WasMade = (key: ApiKey | undefined) => boolean

/** Something else holds for the keys that were made in some way. */
export const forKeysMade =
  (way: keyof typeof makings, change: (wasMade: WasMade, seen: Seen) => Change) =>
  (seen: Seen, made = new Set<string | undefined>()): Change => ({
    storedKey: (key) => {
      if (makings[way](seen)) made.add(key.id)
      return key
    },
    ...change((key) => made.has(key?.id), seen),
  })

/** A key is mixed up with the one that created it. */
export const withCreators =
  (change: (creatorOf: (key: ApiKey) => ApiKey | undefined, seen: Seen) => Change) =>
  (seen: Seen, creators = new Map<string, ApiKey>()): Change => ({
    storedKey: (key) => {
      if (seen.caller !== undefined) creators.set(key.id, seen.caller)
      return key
    },
    ...change(({ id }) => creators.get(id), seen),
  })
