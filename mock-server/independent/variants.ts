import type { IndependentVariant } from './independent-variant.ts'
import { combinedVariants } from './variants/combined.ts'
import { eleventhAnswerVariants } from './variants/eleventh-answers.ts'
import { eleventhKeyVariants } from './variants/eleventh-keys.ts'
import { eleventhLimitVariants } from './variants/eleventh-limits.ts'
import { eleventhSessionVariants } from './variants/eleventh-sessions.ts'
import { eleventhTokenVariants } from './variants/eleventh-tokens.ts'
import { envelopeVariants } from './variants/envelope.ts'
import { errorObjectVariants } from './variants/error-objects.ts'
import { fifthAnswerVariants } from './variants/fifth-answers.ts'
import { fifthKeyVariants } from './variants/fifth-keys.ts'
import { fifthRequestVariants } from './variants/fifth-requests.ts'
import { fifthSessionVariants } from './variants/fifth-sessions.ts'
import { fifthTokenVariants } from './variants/fifth-tokens.ts'
import { fourthAnswerVariants } from './variants/fourth-answers.ts'
import { fourthCombinedVariants } from './variants/fourth-combined.ts'
import { fourthKeyVariants } from './variants/fourth-keys.ts'
import { fourthSessionVariants } from './variants/fourth-sessions.ts'
import { fourthTokenVariants } from './variants/fourth-tokens.ts'
import { keyVariants } from './variants/keys.ts'
import { lifetimeVariants } from './variants/lifetimes.ts'
import { lockoutVariants } from './variants/lockouts.ts'
import { refusalVariants } from './variants/refusals.ts'
import { scopeVariants } from './variants/scopes.ts'
import { secondAnswerVariants } from './variants/second-answers.ts'
import { secondCombinedVariants } from './variants/second-combined.ts'
import { secondKeyVariants } from './variants/second-keys.ts'
import { secondRequestVariants } from './variants/second-requests.ts'
import { secondSessionVariants } from './variants/second-sessions.ts'
import { secondTokenVariants } from './variants/second-tokens.ts'
import { sessionVariants } from './variants/sessions.ts'
import { seventhAnswerVariants } from './variants/seventh-answers.ts'
import { seventhCombinedVariants } from './variants/seventh-combined.ts'
import { seventhKeyVariants } from './variants/seventh-keys.ts'
import { seventhTokenVariants } from './variants/seventh-tokens.ts'
import { signatureVariants } from './variants/signatures.ts'
import { sixthAnswerVariants } from './variants/sixth-answers.ts'
import { sixthCombinedVariants } from './variants/sixth-combined.ts'
import { sixthKeyVariants } from './variants/sixth-keys.ts'
import { sixthMoreCombinedVariants } from './variants/sixth-more-combined.ts'
import { sixthMoreKeyVariants } from './variants/sixth-more-keys.ts'
import { sixthMoreTokenVariants } from './variants/sixth-more-tokens.ts'
import { sixthTokenVariants } from './variants/sixth-tokens.ts'
import { tenthAnswerVariants } from './variants/tenth-answers.ts'
import { tenthCombinedVariants } from './variants/tenth-combined.ts'
import { tenthKeyVariants } from './variants/tenth-keys.ts'
import { tenthLimitVariants } from './variants/tenth-limits.ts'
import { tenthTokenVariants } from './variants/tenth-tokens.ts'
import { thirdAnswerVariants } from './variants/third-answers.ts'
import { thirdCombinedVariants } from './variants/third-combined.ts'
import { thirdKeyVariants } from './variants/third-keys.ts'
import { thirdSessionVariants } from './variants/third-sessions.ts'
import { thirdTokenVariants } from './variants/third-tokens.ts'
import { throttlingVariants } from './variants/throttling.ts'
import { tokenVariants } from './variants/tokens.ts'
import { transportVariants } from './variants/transport.ts'
import { twelfthAnswerVariants } from './variants/twelfth-answers.ts'
import { twelfthKeyVariants } from './variants/twelfth-keys.ts'
import { twelfthSessionVariants } from './variants/twelfth-sessions.ts'
import { twelfthSignatureVariants } from './variants/twelfth-signatures.ts'
import { twelfthTokenVariants } from './variants/twelfth-tokens.ts'

/** The first set, by an author who did not know the cases. */
const firstVariants: readonly IndependentVariant[] = [
  ...envelopeVariants,
  ...transportVariants,
  ...errorObjectVariants,
  ...refusalVariants,
  ...throttlingVariants,
  ...lockoutVariants,
  ...keyVariants,
  ...signatureVariants,
  ...tokenVariants,
  ...lifetimeVariants,
  ...scopeVariants,
  ...sessionVariants,
  ...combinedVariants,
]

/** The second set: another author, who knows neither the cases nor the first set. */
export const secondVariants: readonly IndependentVariant[] = [
  ...secondAnswerVariants,
  ...secondRequestVariants,
  ...secondKeyVariants,
  ...secondTokenVariants,
  ...secondSessionVariants,
  ...secondCombinedVariants,
]

/** The third set: another author, who does not know the cases (README.md). */
export const thirdVariants: readonly IndependentVariant[] = [
  ...thirdAnswerVariants,
  ...thirdKeyVariants,
  ...thirdTokenVariants,
  ...thirdSessionVariants,
  ...thirdCombinedVariants,
]

/** The fourth set: another author, who does not know the cases (README.md). */
export const fourthVariants: readonly IndependentVariant[] = [
  ...fourthAnswerVariants,
  ...fourthKeyVariants,
  ...fourthTokenVariants,
  ...fourthSessionVariants,
  ...fourthCombinedVariants,
]

/** The fifth set: another author, who does not know the cases (README.md). */
export const fifthVariants: readonly IndependentVariant[] = [
  ...fifthAnswerVariants,
  ...fifthRequestVariants,
  ...fifthKeyVariants,
  ...fifthTokenVariants,
  ...fifthSessionVariants,
]

/** The later part of the sixth set: what happens between calls and over time (README.md). */
export const sixthMoreVariants: readonly IndependentVariant[] = [
  ...sixthMoreTokenVariants,
  ...sixthMoreKeyVariants,
  ...sixthMoreCombinedVariants,
]

/** The sixth set, of variants only: another author, who does not know the cases (README.md). */
export const sixthVariants: readonly IndependentVariant[] = [
  ...sixthAnswerVariants,
  ...sixthKeyVariants,
  ...sixthTokenVariants,
  ...sixthCombinedVariants,
  ...sixthMoreVariants,
]

/** The seventh set, of variants only: another author, who does not know the cases (README.md). */
export const seventhVariants: readonly IndependentVariant[] = [
  ...seventhAnswerVariants,
  ...seventhKeyVariants,
  ...seventhTokenVariants,
  ...seventhCombinedVariants,
]

/** The tenth set: another author, who does not know the cases (README.md). */
export const tenthVariants: readonly IndependentVariant[] = [
  ...tenthAnswerVariants,
  ...tenthKeyVariants,
  ...tenthTokenVariants,
  ...tenthLimitVariants,
  ...tenthCombinedVariants,
]

/** The eleventh set, of variants only: another author, who does not know the cases (README.md). */
export const eleventhVariants: readonly IndependentVariant[] = [
  ...eleventhAnswerVariants,
  ...eleventhKeyVariants,
  ...eleventhTokenVariants,
  ...eleventhSessionVariants,
  ...eleventhLimitVariants,
]

/** The twelfth set, of variants only: another author, who does not know the cases (README.md). */
export const twelfthVariants: readonly IndependentVariant[] = [
  ...twelfthAnswerVariants,
  ...twelfthKeyVariants,
  ...twelfthSignatureVariants,
  ...twelfthTokenVariants,
  ...twelfthSessionVariants,
]

/** Conforming servers, written without knowledge of the cases of the suite, by the set that they belong to: none of them may fail. */
export const variantSets: { readonly [set: string]: readonly IndependentVariant[] } = {
  first: firstVariants,
  second: secondVariants,
  third: thirdVariants,
  fourth: fourthVariants,
  fifth: fifthVariants,
  sixth: sixthVariants,
  seventh: seventhVariants,
  tenth: tenthVariants,
  eleventh: eleventhVariants,
  twelfth: twelfthVariants,
}

/** All of them. */
export const independentVariants: readonly IndependentVariant[] = Object.values(variantSets).flat()
