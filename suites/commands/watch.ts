import { usageError } from '../engine/errors.ts'
import { jsonLine, lines, printable } from '../engine/printable.ts'
import { listenForSignals } from '../run/ending.ts'
import { demandPlaceFor, readText } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { readTargetFile, readTls, serverFlags } from '../run/options.ts'
import { openJudging } from '../watch/judging.ts'
import { openProxy } from '../watch/proxy.ts'
import { writeError, writeOut } from './console.ts'
import { openTraffic, trafficFlags } from './traffic.ts'

const defaultAnswerSeconds = 60

const watchFlags = {
  url: serverFlags.url,
  ...flag.grouped('The proxy', {
    listen: flag.preset('--listen <host:port>', 'where clients call it; port 0: any free one', '127.0.0.1:0'),
    tlsCert: flag.value('--tls-cert <file>', 'certificate (PEM), to be called by https'),
    tlsKey: flag.value('--tls-key <file>', 'private key (PEM) of the certificate'),
    forwardedFor: flag.mark('--forwarded-for', 'tell the server the address of the client in X-Forwarded-For'),
    answerTimeout: flag.value(
      '--answer-timeout <seconds>',
      `answer 504 if the server is silent for this long; ${defaultAnswerSeconds} by default`,
      flag.number.seconds,
    ),
    timeout: flag.value('--timeout <seconds>', 'end after this time, as Ctrl-C does', flag.number.seconds),
    save: flag.value('--save <file>', 'write every call as a line of JSON, without secrets; "judge" reads it'),
    quiet: flag.mark('--quiet', 'print no line for each call'),
  }),
  ...trafficFlags,
}

const help = `
Point a client at the printed URL and go on working. Each call is one line; below a refused one stands why it was
refused, and below a wrong answer the sentence that it breaks. Ctrl-C ends it and prints the report.

Exit codes: 0 nothing wrong was seen; 1 the server or a client broke a sentence; 2 wrong usage; 3 no call was seen.

  npx svc-conformance watch --url http://127.0.0.1:8080 --key-id ID
  npx svc-conformance watch --url https://service.example --keys keys.yaml --save traffic.jsonl`

export const command: flag.Command<typeof watchFlags> = {
  about: 'a proxy before a server that judges both sides of what passes, and explains each refusal at once',
  flags: watchFlags,
  help,
  run: watch,
}

/** @returns the exit code @throws SuiteError (`usage`, `fixture`; exit code 2) */
async function watch(typed: flag.Typed<typeof watchFlags>): Promise<number> {
  const flags = flag.read(watchFlags, typed, process.env)
  const proxyOptions = readProxyOptions(flags, typed)
  const { save, quiet } = flags
  if (save !== null) demandPlaceFor(save, 'the traffic', true)
  const { keys, terms, requirements, trace, writeReports } = await openTraffic(typed)
  const judging = openJudging({ keys, terms, requirements, save, trace }, (all) => {
    if (!quiet) writeOut(lines(all))
  })
  let others = 0
  const proxy = await openProxy({
    ...proxyOptions,
    begin: judging.begin,
    end: judging.end,
    other: () => {
      others += 1
    },
  })
  writeOut(jsonLine({ url: proxy.url }))
  writeError(lines([printable(`Watching ${proxyOptions.url}; Ctrl-C ends it and prints the report`)]))
  await endOf(flags.timeout)
  await proxy.close()
  const { url } = proxyOptions
  const outcome = await judging.finish()
  return writeReports({ outcome, target: url, again: flag.commandLine('watch', { url }), others, lacks: [] })
}

/** Resolves at Ctrl-C, SIGTERM, or after this many seconds. */
function endOf(seconds: number | null): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = seconds === null ? undefined : setTimeout(end, seconds * 1000)
    listenForSignals(end)
  })
}

type Read = Omit<Parameters<typeof openProxy>[0], 'begin' | 'end' | 'other'>

function readProxyOptions(flags: flag.Values<typeof watchFlags>, typed: flag.Typed<typeof watchFlags>): Read {
  const named = readTargetFile(typed, process.env)
  const { file } = named
  const url = flags.url ?? (file.url === undefined ? null : flag.baseUrl(file.url))
  if (url === null) throw usageError('Name the server to watch, as in "--url https://service.example"')
  const [, host = '', port = ''] = /^(?:\[(?=.*\]))?(.*?)\]?:(\d+)$/.exec(flags.listen) ?? []
  if (host === '')
    throw usageError(`Cannot use "${flags.listen}" for "--listen": expected HOST:PORT, such as "127.0.0.1:8080"`)
  const { tlsCert, tlsKey } = flags
  if ((tlsCert === null) !== (tlsKey === null)) throw usageError('Give "--tls-cert" and "--tls-key" together')
  return {
    url,
    host,
    port: flag.number.port(port, '--listen'),
    tls: readTls(named),
    certificate:
      tlsCert === null || tlsKey === null
        ? undefined
        : { cert: readText(tlsCert, 'the certificate'), key: readText(tlsKey, 'the key of the certificate') },
    headers: file.headers ?? {},
    forwards: flags.forwardedFor,
    timeoutMs: (flags.answerTimeout ?? defaultAnswerSeconds) * 1000,
  }
}
