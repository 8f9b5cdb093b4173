/** Judges one test client as the command does, but in this process. */
import { judgeJournals } from '../client/judge.ts'
import { scenarios } from '../client/scenarios.ts'
import { runScenarios } from '../client/watch.ts'
import type { TestClient } from './clients/catalogue.ts'

export interface Judgement {
  failed: string[]
  warned: string[]
  passed: string[]
  notExercised: string[]
  /** The first finding of each check that failed or warned. */
  messages: { [check: string]: string }
  durationMs: number
}

const timeoutSeconds = 20

/** @param wanted which of the scenarios for the client's ways to authorize to run */
export async function judgeTestClient(
  client: TestClient,
  wanted: (id: string) => boolean = () => true,
): Promise<Judgement> {
  const selected = scenarios.filter(({ id, auth }) => client.auth.includes(auth) && wanted(id))
  const fromMs = Date.now()
  const command = client.command.map((word) => `'${word}'`).join(' ')
  const { signal } = new AbortController()
  const journals = await runScenarios(selected, { command, timeoutSeconds, signal })
  const results = judgeJournals(journals, selected)
  const ids = (verdict: string): string[] =>
    results.filter((one) => one.verdict === verdict).map(({ check }) => check.id)
  const messages = results.flatMap(({ check, findings }) => {
    const [first] = findings
    return first === undefined ? [] : [[check.id, `${first.scenario}: ${first.finding.message}`]]
  })
  return {
    failed: ids('failed'),
    warned: ids('warned'),
    passed: ids('passed'),
    notExercised: ids('not-exercised'),
    messages: Object.fromEntries(messages),
    durationMs: Date.now() - fromMs,
  }
}

/** What is wrong with a judgement; null if it is right. */
export function judgementProblem(client: TestClient, { failed, warned, passed }: Judgement): string | null {
  const wrong = [...failed, ...warned]
  switch (client.kind) {
    case 'right':
      if (wrong.length > 0) return `a right client does not pass ${wrong.join(', ')}`
      return passed.length === 0 ? 'nothing is exercised' : null
    case 'inert':
      return passed.length + wrong.length > 0 ? `an inert client shows ${[...passed, ...wrong].join(', ')}` : null
    case 'broken': {
      const others = wrong.filter((check) => check !== client.check)
      if (others.length === wrong.length)
        return `not caught at ${client.check}; wrong: ${others.join(', ') || 'nothing'}`
      return others.length > mostOthers ? `${others.length} further checks: ${others.join(', ')}` : null
    }
  }
}

/** One mistake may show in neighbouring checks. */
const mostOthers = 2
