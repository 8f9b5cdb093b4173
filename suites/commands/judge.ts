import { readText } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { readTraffic } from '../watch/records.ts'
import { openSession, replay } from '../watch/session.ts'
import { openTraffic, trafficFlags } from './traffic.ts'

const judgeFlags = {
  url: flag.value('--url <url>', 'base URL of the server, for a HAR with several; calls go to {url}/api', flag.baseUrl),
  ...trafficFlags,
}

const help = `
FILE is HAR 1.2, as browsers, proxies and test drivers write it, or lines of JSON, as "watch --save", "serve" and the
journal of the reference server write them. Several files are judged as one, in the order in which they are named.

Exit codes: 0 nothing wrong was seen; 1 the server or a client broke a sentence; 2 wrong usage or a broken file; 3 no
call of the interface in the files.

  npx svc-conformance judge traffic.har
  npx svc-conformance judge journal.jsonl --keys keys.yaml --report html=report.html`

export const command: flag.Command<typeof judgeFlags, string[]> = {
  about: 'judge recorded traffic: the answers of the server, and what each client sent',
  operand: ['<file...>', 'HAR 1.2, or lines of JSON'],
  flags: judgeFlags,
  help,
  run: judgeFiles,
}

/** The longest file that is read. In bytes. */
const longestFile = 512 * 1024 * 1024

/** @returns the exit code @throws SuiteError (`usage`, `fixture`; exit code 2) */
async function judgeFiles(typed: flag.Typed<typeof judgeFlags>, files: readonly string[]): Promise<number> {
  const { url } = flag.read(judgeFlags, typed)
  const { keys, terms, requirements, writeReports } = await openTraffic(typed)
  const traffic = files.map((file) => readTraffic(readText(file, 'the traffic', longestFile), file, url ?? undefined))
  const session = openSession({ terms, keys: [...traffic.flatMap((one) => one.keys), ...keys], requirements })
  const calls = traffic.map(({ observed }) => observed)
  replay(session, calls)
  return writeReports({
    outcome: session.finish(),
    target: url ?? files.join(', '),
    again: [flag.commandLine('judge', { url }), ...files].join(' '),
    others: traffic.reduce((sum, { others }) => sum + others, 0),
    lacks: traffic.flatMap(({ lacks }) => lacks),
  })
}
