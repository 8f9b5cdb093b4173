/**
 * How many servers that the explorer's author had not seen are found to be broken, and how many conforming ones are not.
 *
 *     npm run explore-proof -- [--only PREFIX] [--variants | --mutants] [--seeds N] [--out FILE] [--all]
 *
 * Results are appended to FILE (.build/explore-proof.jsonl), one line each; what is there already is not asked again. A broken server
 * is left at its first finding, unless --all. The servers' clocks are moved, so that nothing waits.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { explore } from '../suites/explore/explore.ts'
import { openMemoryWire } from '../suites/explore/memory-wire.ts'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import {
  createHandler,
  loadIndependentMutants,
  loadIndependentVariants,
  type ServerOptions,
} from '../suites/targets/bundled.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    variants: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '1' },
    first: { type: 'string', default: '1' },
    calls: { type: 'string', default: '7500' },
    walks: { type: 'string', default: '40' },
    out: { type: 'string', default: '.build/explore-proof.jsonl' },
    all: { type: 'boolean', default: false },
    part: { type: 'string', default: '0/1' },
  },
})

interface Line {
  kind: 'mutant' | 'variant'
  id: string
  seed: number
  breaks: string
  calls: number
  ms: number
  found: { requirement: string; level: string; id: string; message: string; again: string }[]
}

/** Ends an exploration at its first finding. */
class Enough extends Error {}

const { requirements } = await openCorpus()

async function exploreServer(
  server: Omit<ServerOptions, 'clock'>,
  settings: { scheme?: string; tokenPrefix?: string; clientAddress?: string },
  seed: number,
  stopAtFirst: boolean,
): Promise<Pick<Line, 'calls' | 'ms' | 'found'>> {
  const handler = createHandler({ clock: 'virtual', ...server })
  const { clock, root, profile } = handler.context
  const started = performance.now()
  let calls = 0
  const wire = openMemoryWire(handler.handle, clock, `${profile.basePath}/api`)
  const counted = {
    ...wire,
    send: (request: Parameters<typeof wire.send>[0]) => {
      calls += 1
      return wire.send(request)
    },
  }
  const found: Line['found'] = []
  try {
    await explore({
      wire: counted,
      root: { kind: 'secret', id: root.id, secret: root.secret },
      settings: { ...plainSettings, ...settings },
      allow: { sessions: true, keys: true, limits: true },
      fresh: true,
      loopback: true,
      seed,
      maxCalls: Number(values.calls),
      seconds: 600,
      walks: Number(values.walks),
      requirements,
      say: () => {},
      onFinding: ({ requirement, level, id, message, reproduced }) => {
        found.push({ requirement, level, id, message, again: `${reproduced.failed}/${reproduced.tries}` })
        if (stopAtFirst) throw new Enough()
      },
    })
  } catch (error) {
    if (!(error instanceof Enough)) throw error
  }
  return { calls, ms: Math.round(performance.now() - started), found }
}

const plainSettings = {
  scheme: 'svc-hmac-sha256',
  signedUri: '/api',
  scopeNames: {},
  headers: {},
  probes: {},
  solutions: [],
  rate: 0,
  maxWaitMs: 0,
}

const done = new Map<string, Line>()
if (existsSync(values.out))
  for (const text of readFileSync(values.out, 'utf8')
    .split('\n')
    .filter((line) => line !== '')) {
    const line = JSON.parse(text) as Line
    done.set(`${line.kind} ${line.id} ${line.seed}`, line)
  }
mkdirSync(dirname(values.out), { recursive: true })

async function ask(
  kind: Line['kind'],
  id: string,
  breaks: string,
  run: (seed: number) => ReturnType<typeof exploreServer>,
): Promise<void> {
  for (let seed = Number(values.first); seed < Number(values.first) + Number(values.seeds); seed++) {
    if (done.has(`${kind} ${id} ${seed}`)) continue
    const line: Line = { kind, id, seed, breaks, ...(await run(seed)) }
    done.set(`${kind} ${id} ${seed}`, line)
    appendFileSync(values.out, `${JSON.stringify(line)}\n`)
  }
}

const [part = 0, parts = 1] = values.part.split('/').map(Number)
const mine = <Item extends { id: string }>(items: readonly Item[]): Item[] =>
  items.filter(({ id }, index) => id.startsWith(values.only) && index % parts === part)
if (!values.variants)
  for (const mutant of mine(await loadIndependentMutants()))
    await ask('mutant', mutant.id, mutant.breaks, (seed) => exploreServer(mutant.create(), {}, seed, !values.all))
if (!values.mutants)
  for (const variant of mine(await loadIndependentVariants())) {
    const { profile, settings = {} } = variant
    await ask('variant', variant.id, '', (seed) =>
      exploreServer({ ...(profile === undefined ? {} : { profile }), ...variant.create?.() }, settings, seed, false),
    )
  }

const lines = [...done.values()]
const mutants = lines.filter(({ kind }) => kind === 'mutant')
const missed = mutants.filter(({ found }) => found.length === 0)
const elsewhere = mutants.filter(
  ({ found, breaks }) => found.length > 0 && !found.some(({ requirement }) => requirement === breaks),
)
for (const { id, breaks, seed } of missed) console.log(`missed: ${id} (${breaks}, seed ${seed})`)
for (const { id, breaks, found } of elsewhere)
  console.log(`elsewhere: ${id} breaks ${breaks}, found at ${found.map(({ requirement }) => requirement).join(', ')}`)
for (const { id, seed, found } of lines.filter(({ kind, found }) => kind === 'variant' && found.length > 0))
  console.log(
    `false alarm: ${id} (seed ${seed}): ${found.map(({ level, requirement, message }) => `${level} ${requirement}: ${message}`).join('; ')}`,
  )
const variants = lines.filter(({ kind }) => kind === 'variant')
console.log(
  `${mutants.length - missed.length} of ${mutants.length} broken servers found, ${variants.filter(({ found }) => found.length > 0).length} alarms on ${variants.length} explorations of conforming ones`,
)
