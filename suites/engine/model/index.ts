/** The model of the document: what it says about any call, given the state of the target. Pure; shares nothing with mock-server. */
export { type Exchange, explain } from './explain.ts'
export { facts } from './facts.ts'
export { contradicts, judge } from './judge.ts'
export { learn } from './learn.ts'
export { levelOf } from './levels.ts'
export { shape } from './shape.ts'
export { initialState } from './state.ts'
export type { Answer, Call, Fact, Key, Matchers, Misuse, Problem, Span, State, Terms, Verdict } from './types.ts'
