/** The settings of a load run, from the environment or `-e NAME=value`, and the k6 options that follow from them. */

const callsOf = {
  hmac: ['hmac'],
  ecc: ['ecc'],
  grants: ['grant'],
  refresh: ['grant', 'refresh', 'token'],
  mixed: ['hmac', 'ecc', 'token', 'grant', 'refresh'],
}

const functionOf = { hmac: 'hmac', ecc: 'ecc', grants: 'grants', refresh: 'refreshChain', mixed: 'mixed' }

/** With RATE: the share of iterations that may find no free VU; above it the rate was not the one asked for. */
const droppedShare = 0.01

export const settings = {
  url: (__ENV.SVC_URL || '').replace(/\/$/, ''),
  keyId: __ENV.SVC_KEY_ID || '',
  keySecret: __ENV.SVC_KEY_SECRET || '',
  eccKeyId: __ENV.SVC_ECC_KEY_ID || '',
  eccPrivateKey: __ENV.SVC_ECC_PRIVATE_KEY || '',
  scheme: __ENV.SVC_SCHEME || 'svc-hmac-sha256',
  tokenPrefix: __ENV.SVC_TOKEN_PREFIX === undefined ? 'Bearer' : __ENV.SVC_TOKEN_PREFIX,
  scenario: scenarioOf(__ENV.SCENARIO || 'mixed'),
  vus: wholeNumber('VUS', 10),
  iterations: wholeNumber('ITERATIONS', 0),
  rate: wholeNumber('RATE', 0),
  duration: __ENV.DURATION || '10s',
  chain: wholeNumber('CHAIN', 10),
  p95Ms: wholeNumber('P95_MS', 500),
  refusedShare: share('REFUSED_SHARE', 0.001),
  summaryFile: __ENV.SUMMARY || '',
}

/** The kinds of calls that the chosen scenario makes. */
export const kindsOfCalls = callsOf[settings.scenario].filter(
  (call) => call !== 'ecc' || settings.eccKeyId !== '' || settings.scenario === 'ecc',
)

export const options = {
  scenarios: { [settings.scenario]: { exec: functionOf[settings.scenario], ...executor() } },
  thresholds: thresholds(),
  summaryTrendStats: ['med', 'p(95)'],
}

function executor() {
  if (settings.iterations > 0)
    return {
      executor: 'shared-iterations',
      vus: Math.min(settings.vus, settings.iterations),
      iterations: settings.iterations,
    }
  if (settings.rate > 0)
    return {
      executor: 'constant-arrival-rate',
      rate: settings.rate,
      duration: settings.duration,
      preAllocatedVUs: settings.vus,
    }
  return { executor: 'constant-vus', vus: settings.vus, duration: settings.duration }
}

/** A threshold of a tag also makes k6 count by that tag; `count>0` fails a run in which a kind of call was never made. */
function thresholds() {
  const all = { refused: [`rate<${settings.refusedShare}`] }
  for (const call of kindsOfCalls) {
    all[`http_reqs{call:${call}}`] = ['count>0']
    all[`http_req_duration{call:${call}}`] = [`p(95)<${settings.p95Ms}`]
    all[`refused{call:${call}}`] = [`rate<${settings.refusedShare}`]
  }
  if (settings.rate > 0) all.dropped_iterations = [`rate<=${settings.rate * droppedShare}`]
  return all
}

function scenarioOf(name) {
  if (functionOf[name] === undefined)
    throw new Error(`Unknown SCENARIO "${name}": expected one of ${Object.keys(functionOf).join(', ')}`)
  return name
}

function wholeNumber(name, fallback) {
  const text = __ENV[name]
  if (text === undefined || text === '') return fallback
  if (!/^\d+$/.test(text)) throw new Error(`Cannot use "${text}" for ${name}: expected a whole number`)
  return Number(text)
}

function share(name, fallback) {
  const text = __ENV[name]
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (!(value > 0 && value <= 1))
    throw new Error(`Cannot use "${text}" for ${name}: expected a number above 0, at most 1`)
  return value
}
