export type { ServerOptions } from './context.ts'
export { createClock, type MockClock } from './context.ts'
export type { Operator } from './control.ts'
export { type Scene, type SceneName, sceneNames } from './control.ts'
export type { Fault, Faults } from './handler.ts'
export { createHandler, type MockHandler } from './handler.ts'
export type { Handle, MockAnswer, MockRequest, RecordedExchange, Recording } from './http-server.ts'
export { createApp } from './http-server.ts'
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
export { type Rules, rules } from './rules.ts'
export {
  type MockServer,
  mockServerFixture,
  type ServeOptions,
  type StartOptions,
  serve,
  startMockServer,
} from './start.ts'
