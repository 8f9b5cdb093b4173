/** How long runs against a distant server take in simulated time: without the start of processes and the load of the machine. */
import { openCorpus } from '../../suites/run/corpus-cache.ts'
import { runAll } from '../../suites/run/run.ts'
import { type Measure, median } from './measure.ts'
import { simulatedTarget } from './simulated-target.ts'
import { createSimulatedTime } from './simulated-time.ts'

const roundTripMs = 300

/** Each turn has another order of the cases. */
export const simulatedMeasure: Measure = {
  id: 'simulated-300',
  async run(turns) {
    const corpus = await openCorpus()
    const times: number[] = []
    for (let seed = 1; seed <= turns; seed += 1) {
      const startMs = Date.UTC(2026, 0, 1)
      const time = createSimulatedTime(startMs)
      const outcomes = await time.during(runAll({ target: simulatedTarget(time, roundTripMs), corpus, seed }))
      const wrong = outcomes.filter(({ verdict }) => ['failed', 'blocked', 'warned'].includes(verdict))
      if (wrong.length > 0) throw new Error(`These cases did not pass: ${wrong.map(({ key }) => key).join(', ')}`)
      times.push((time.now() - startMs) / 1000)
    }
    return [
      {
        name: 'The cases of a disposable run, 300 ms away, in simulated time',
        value: median(times),
        unit: 's',
        runs: turns,
        reference: { name: 'one call', value: roundTripMs / 1000 },
        ratio: median(times) / (roundTripMs / 1000),
        wanted: { atMost: 150 },
      },
    ]
  },
}
