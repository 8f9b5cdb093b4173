import { defaultScheme } from '../engine/document.ts'
import type { Ending, Journal, Start } from './journal.ts'
import { type JudgedServer, type PrivateKeyFile, startJudgedServer, tokenPrefix } from './judged-server.ts'
import { runCommand } from './run-command.ts'
import type { Scenario } from './scenario.ts'

interface ScenarioOptions {
  command: string
  timeoutSeconds: number
  privateKey: PrivateKeyFile
  /** Resolves when the whole run is to end. */
  interrupted: Promise<unknown>
  /** Called once the client has made its first request, printed its first line, or ended. */
  onAwake(): void
}

export type ScenarioResult = { kind: 'journal'; journal: Journal } | { kind: 'not-started'; stderr: string }

/** More requests than any client needs for a few calls. */
const mostRequests = 1000

/** Starts a server, runs the client against it as often as the scenario says, and returns the journal. */
export async function runScenario(scenario: Scenario, options: ScenarioOptions): Promise<ScenarioResult> {
  const runaway = watchRequests(options.onAwake)
  const server = await startJudgedServer(scenario, options.privateKey, runaway.onRequest)
  const stop = Promise.race([runaway.stop, options.interrupted.then((): Ending => ({ kind: 'interrupted' }))])
  const starts: Start[] = []
  try {
    while (starts.length < scenario.starts) {
      const result = await runCommand({
        command: options.command,
        env: environmentOf(scenario, server, options.privateKey),
        timeoutSeconds: options.timeoutSeconds,
        now: preciseNow,
        stop,
        onLine: options.onAwake,
      })
      options.onAwake()
      if (result.kind === 'not-started') return result
      starts.push(result.start)
      if (result.start.ended.kind !== 'exit') break
    }
    return { kind: 'journal', journal: journalOf(scenario, server, starts) }
  } finally {
    await server.close()
  }
}

function watchRequests(onAwake: () => void): { onRequest: () => void; stop: Promise<Ending> } {
  let count = 0
  let resolveStop: (ending: Ending) => void = () => {}
  const stop = new Promise<Ending>((resolve) => {
    resolveStop = resolve
  })
  const onRequest = (): void => {
    count += 1
    if (count === 1) onAwake()
    if (count > mostRequests) resolveStop({ kind: 'runaway', requests: mostRequests })
  }
  return { onRequest, stop }
}

/** What the client finds in its environment; the names are fixed. */
function environmentOf(
  scenario: Scenario,
  { url, key }: Pick<JudgedServer, 'url' | 'key'>,
  privateKey: Pick<PrivateKeyFile, 'path'>,
): { [name: string]: string } {
  return {
    SVC_URL: url,
    SVC_KEY_ID: key.id,
    ...(key.kind === 'secret' ? { SVC_KEY_SECRET: key.secret } : { SVC_PRIVATE_KEY_FILE: privateKey.path }),
    SVC_SCHEME: defaultScheme,
    SVC_TOKEN_PREFIX: tokenPrefix,
    SVC_SCENARIO: scenario.id,
    SVC_AUTH: scenario.auth,
    SVC_SCOPE: scenario.scope.join(','),
    SVC_METHOD: scenario.method,
    SVC_CALLS: String(scenario.calls),
    SVC_PARALLEL: String(scenario.parallel),
    SVC_PAUSE_MS: String(scenario.pauseMs),
  }
}

function journalOf(scenario: Scenario, server: JudgedServer, starts: readonly Start[]): Journal {
  const { auth, scope, method, calls, parallel } = scenario
  const clockOffsetMs = scenario.server.profile?.clockOffsetMs ?? 0
  return {
    scenario: scenario.id,
    // The lag is known when all scenarios have ended.
    setting: { auth, scope, method, calls, parallel, scheme: defaultScheme, tokenPrefix, clockOffsetMs, lagMs: 0 },
    keys: [server.key],
    exchanges: [...server.exchanges()],
    elsewhere: [...server.elsewhere()],
    starts,
  }
}

/** On the same clock as the recording of the server. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now()
}
