import { type MockServer, type StartOptions, startMockServer } from './start.ts'

/**
 * A vitest fixture: `const test = base.extend({ mock: mockServerFixture() })` gives every test its own server, with a clock that
 * stands still until it is moved.
 */
export function mockServerFixture(options: StartOptions = {}) {
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameter's pattern to learn what a fixture needs
  return async ({}: object, use: (server: MockServer) => Promise<void>): Promise<void> => {
    const server = await startMockServer({ clock: 'virtual', ...options })
    await use(server)
    await server.close()
  }
}
