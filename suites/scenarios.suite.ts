import { inject, test } from 'vitest'
import { type RanCases, threadCases, type ThreadRequest } from './run/run.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    request: ThreadRequest
  }
  interface TaskMeta {
    ran?: RanCases
  }
}

const request = inject('request')

/** The thread tells the outcomes itself, so vitest only waits for its end. */
test(`cases of the ${request.url === null ? 'bundled server' : 'target'}`, async ({ task }) => {
  task.meta.ran = await threadCases(request)
})
