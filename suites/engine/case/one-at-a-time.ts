/** Runs tasks one after another, in the order in which they come. */
export interface Queue {
  run<T>(task: () => Promise<T>): Promise<T>
}

export function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(task) {
      const next = last.then(task)
      last = next.catch(() => {})
      return next
    },
  }
}
