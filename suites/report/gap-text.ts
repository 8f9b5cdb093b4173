import type { Gap, LostPreparation, SecondAddressProblem } from '../engine/judge/problem.ts'
import { type TextOfKind, textOfKind } from './text-of-kind.ts'

const permissionTexts = {
  sessions: 'requesting access tokens needs --allow sessions',
  keys: 'creating API keys needs --allow keys',
  limits: 'filling a limit of the target needs --allow sessions,keys,limits',
} as const

const lossTexts: TextOfKind<LostPreparation> = {
  'session-removed': ({ newer }) =>
    newer === undefined
      ? 'the session of its token was removed by newer ones'
      : `the session of its token was removed, because ${newer} newer ones of its key were created since it was last used`,
  'pair-refreshed': () => 'its token had been exchanged for a new pair',
  'token-expired': ({ agoMs }) => `its token had expired at least ${(agoMs / 1000).toFixed(1)} s before`,
}

/** What a target or its user does not offer, and what to do about it. */
export const gapTexts: TextOfKind<Gap> = {
  'needs-permission': ({ permission }) => permissionTexts[permission],
  'needs-fresh-instance': () => 'a fresh instance is needed; --disposable says that the target is one',
  'needs-second-address': ({ because }) => `a second address to call from is needed; ${secondAddressText(because)}`,
  'needs-client-address': () =>
    'the address that the server sees is not known; clientAddress in the target file gives it',
  'needs-clock-control': () =>
    'a server clock that can be moved is needed, or --wait SECONDS longer than the refresh lifetime',
  'needs-cleanup': () =>
    'only a cleanup method can remove the created key; cleanup in the target file names that method',
  'needs-solutions': () => 'two solutions are needed; solutions in the target file names them',
  'area-absent': ({ area }) => `the target file declares the API area ${area} absent`,
  'needs-probe': ({ probe }) => probesText([probe]),
  'few-places-for-keys': ({ places }) =>
    `fewer than ${places} places for API keys remain on the target; a cleanup method in the target file frees them`,
  'no-place-for-keys': ({ fresh, created }) =>
    fresh
      ? `the target creates no more API keys after ${created}, although it is fresh; it may count refused creations`
      : 'the target creates no more API keys, most likely because it has its ten; a cleanup method in the target file frees places',
  'places-perhaps-used': ({ count }) =>
    `fewer keys could be created than the limit allows, but ${count} were removed, refused or not answered before, and the target may count them; run against a fresh target`,
  'left-out': ({ reason }) => `left out by --skip: ${reason}`,
  'as-declared': ({ reason }) => reason,
  'empty-list': () => 'the list that the next step goes through is empty',
  'clock-unknown': () =>
    "the target's answers carry no Date header that can be relied on, so its clock is not known and no time can be judged by it",
  'wait-too-long': ({ waitMs }) => {
    const seconds = Math.ceil(waitMs / 1000)
    return `waiting for ${seconds} s needs --wait ${seconds}`
  },
  'lifetime-too-long': ({ requestedMs, refreshLifeMs }) =>
    `the target need not grant expiresIn:${requestedMs}: its refresh tokens live for about ${Math.round(refreshLifeMs / 1000)} s`,
  'token-ended': () => 'a token had expired, or was about to, when it was used, so its refusal cannot be judged',
  'preparation-lost': ({ because }) =>
    `a preparation of the case no longer held: ${textOfKind(lossTexts, because)} (${because.requirement})`,
  'cannot-be-sent': ({ reason }) => reason,
  'test-key-kept': () => 'the test key is kept from an earlier run; without the kept test keys a new one is created',
  'test-key-made-before': () => 'an earlier case needed the test key, so it already exists',
  'no-call': () => 'no call was made',
  'nothing-judged': () => 'the target offered nothing that this case could try, so nothing was judged',
}

function secondAddressText(because: SecondAddressProblem | undefined): string {
  switch (because?.kind) {
    case undefined:
      return 'secondAddress in the target file names one'
    case 'same-address':
      return `${because.address} is the address that all other calls come from; secondAddress in the target file names another one`
    case 'no-answer':
      return `no call from ${because.address} gets an answer (${because.reason}); secondAddress in the target file names an address of this machine`
    case 'seen-as-another':
      return `the target does not see ${because.address} as the address of these calls; a proxy may be in front of it`
    case 'no-token-accepted':
      return `the target accepts no token from ${because.address}; that address may not be allowed to call it`
  }
}

/** One sentence for all probes that a target file could name. */
export function probesText(probes: readonly string[]): string {
  const names = [...probes].sort().map((probe) => `probes.${probe}`)
  return names.length === 1
    ? `a method that the document does not show is called; ${names[0]} in the target file names one, or absent says that this server has no such area`
    : `methods that the document does not show are called; ${names.join(', ')} in the target file name them, or absent lists the areas that this server does not have`
}
