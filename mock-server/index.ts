export type { RootKeyOptions, ServerOptions } from './context.ts'
export { createClock, type MockClock } from './context.ts'
export type { Operator } from './control.ts'
export { type Scene, type SceneKey, type SceneName, sceneNames } from './control.ts'
export type { ArmedFault, Fault, FaultChoice, FaultKind, Faults } from './handler.ts'
export { createHandler, type MockHandler } from './handler.ts'
export type { Handle, MockAnswer, MockRequest, RecordedAnswer, RecordedExchange, Recording } from './http-server.ts'
export { createApp, type MountableApp } from './http-server.ts'
export type { Journal, JournalEntry, JournalFilter, LineageEntry } from './journal.ts'
export type { Bounds } from './profile.ts'
export {
  createProfile,
  defaultProfile,
  type Profile,
  profileChoices,
  profileFromWords,
  randomProfile,
  readProfile,
} from './profile.ts'
export { type Rules, rules, type TokenResult as SceneTokens } from './rules.ts'
export {
  type MockServer,
  mockServerFixture,
  type ServeEdge,
  type ServeOptions,
  type StartOptions,
  serve,
  startMockServer,
} from './start.ts'
