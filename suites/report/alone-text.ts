import type { AloneReason } from '../engine/conversation/cases.ts'

const texts: { readonly [reason in AloneReason]: string } = {
  'makes-keys': 'it may create keys, so it runs alone among the cases that do',
  'fills-sessions': 'it fills the sessions of a user, so no other case with such sessions runs at the same time',
  'fills-keys': 'it fills the places for keys, so it runs after all other cases',
  race: 'it makes calls at once to race them, so no other case runs at the same time',
}

/** Describes why a case does not run at the same time as every other case. */
export const aloneText = (reason: AloneReason): string => texts[reason]
