import { inject, test } from 'vitest'
import { threadCases } from './run/thread-cases.ts'

const request = inject('request')

/** The thread tells the outcomes itself, so vitest only waits for its end. */
test(`cases of the ${request.url === null ? 'bundled server' : 'target'}`, async ({ task }) => {
  task.meta.ran = await threadCases(request)
})
