/** Scenarios that judge something but kill no mutant, each with its reason. */
export const idleReasons: { readonly [scenario: string]: string } = {}
