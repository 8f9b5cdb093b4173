/** Scenarios that judge something and yet kill no mutant, each with its reason. */
export const idleReasons: { readonly [scenario: string]: string } = {}
