/** The end of a run: calls, times and refusals as text, and as JSON in the file that SUMMARY names. */
import { listRefusals } from 'k6/x/svc'
import { kindsOfCalls, settings } from './settings.js'

/** k6 calls it once per process, with what this process measured. */
export function handleSummary(data) {
  const summary = summarise(data)
  const files = { stdout: textOf(summary) }
  if (settings.summaryFile !== '') files[settings.summaryFile] = `${JSON.stringify(summary, null, 2)}\n`
  return files
}

function summarise({ metrics, state }) {
  const value = (metric, name) => metrics[metric]?.values[name] ?? 0
  return {
    scenario: settings.scenario,
    url: settings.url,
    vus: value('vus_max', 'value'),
    seconds: state.testRunDurationMs / 1000,
    iterations: value('iterations', 'count'),
    dropped: value('dropped_iterations', 'count'),
    calls: kindsOfCalls.map((call) => ({
      call,
      count: value(`http_reqs{call:${call}}`, 'count'),
      perSecond: value(`http_reqs{call:${call}}`, 'rate'),
      medianMs: value(`http_req_duration{call:${call}}`, 'med'),
      p95Ms: value(`http_req_duration{call:${call}}`, 'p(95)'),
      refused: value(`refused{call:${call}}`, 'passes'),
    })),
    refusals: listRefusals().map(({ call, reason, count }) => ({ call, reason, count })),
    thresholds: thresholdsOf(metrics),
  }
}

function thresholdsOf(metrics) {
  return Object.keys(metrics).flatMap((metric) =>
    Object.entries(metrics[metric].thresholds ?? {}).map(([limit, { ok }]) => ({ metric, limit, held: ok })),
  )
}

/** A run that ends within its first second has no number of VUs: k6 did not sample it. */
function textOf({ scenario, url, vus, seconds, iterations, dropped, calls, refusals, thresholds }) {
  const workers = vus > 0 ? ` by ${vus} VUs` : ''
  const crossed = thresholds.filter(({ held }) => !held)
  const lines = [
    `${scenario}: ${whole(iterations)} iterations in ${seconds.toFixed(1)} s${workers} against ${url}`,
    '',
    row('call', ['calls', 'calls/s', 'median ms', 'p95 ms', 'refused']),
    ...calls.map((one) =>
      row(one.call, [
        whole(one.count),
        whole(one.perSecond),
        one.medianMs.toFixed(2),
        one.p95Ms.toFixed(2),
        whole(one.refused),
      ]),
    ),
    '',
    ...(refusals.length === 0 ? ['No call was refused'] : ['Refusals:']),
    ...refusals.map(({ call, reason, count }) => `  ${whole(count)} × ${call}: ${reason}`),
    ...(dropped === 0 ? [] : [`Not started in time: ${whole(dropped)} iterations, because no VU was free`]),
    `Thresholds: ${thresholds.length - crossed.length} of ${thresholds.length} held`,
    ...crossed.map(({ metric, limit }) => `  crossed: ${metric} ${limit}`),
  ]
  return `${lines.join('\n')}\n`
}

function row(name, cells) {
  return `${name.padEnd(8)}${cells.map((cell) => cell.padStart(11)).join('')}`
}

function whole(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ',')
}
