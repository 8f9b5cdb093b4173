/** Jobs that take turns in one event loop: while one lets time pass, another goes on. So calls are still made one after another. */

interface Job {
  /** What it needs for itself: of the jobs that need the same, a later one starts when the earlier one has ended. */
  readonly needs: readonly string[]
  run(wait: (ms: number) => Promise<void>): Promise<void>
}

/**
 * Runs jobs. One whose wait is over goes on before another is started.
 *
 * @param now a time in ms
 * @param idle called when all of them wait: lets time pass until a time
 * @throws what a job throws; the others then stay where they are
 */
export async function takeTurns(
  jobs: readonly Job[],
  now: () => number,
  idle: (untilMs: number) => Promise<void>,
): Promise<void> {
  let left = [...jobs]
  let waiting: { readonly dueMs: number; goOn(): void }[] = []
  const underWay = new Set<Job>()
  let turn = { end: (): void => {}, fail: (_error: unknown): void => {} }
  const letGoOn = (action: () => void): Promise<void> =>
    new Promise((end, fail) => {
      turn = { end, fail }
      action()
    })
  const wait = (ms: number): Promise<void> =>
    new Promise((goOn) => {
      waiting.push({ dueMs: now() + ms, goOn })
      turn.end()
    })
  const start = (job: Job): void => {
    left = left.filter((other) => other !== job)
    underWay.add(job)
    job.run(wait).then(
      () => {
        underWay.delete(job)
        turn.end()
      },
      (error) => turn.fail(error),
    )
  }
  for (;;) {
    const [first] = waiting.toSorted((one, other) => one.dueMs - other.dueMs)
    const startable = left.find((job, at) => ![...underWay, ...left.slice(0, at)].some((other) => collide(job, other)))
    if (first !== undefined && first.dueMs <= now()) {
      waiting = waiting.filter((one) => one !== first)
      await letGoOn(first.goOn)
    } else if (startable !== undefined) await letGoOn(() => start(startable))
    else if (first !== undefined) await idle(first.dueMs)
    else return
  }
}

const collide = (one: Job, other: Job): boolean => one.needs.some((need) => other.needs.includes(need))
