import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import { portNumber, positive, wholeNumber } from '../run/values.ts'
import type { serve } from '../targets/bundled.ts'
import { collect } from './run-flags.ts'

/** The flags of `serve` for testing a client against it. */
export interface ControlFlags {
  profile?: string[]
  explain?: boolean
  control?: boolean
  controlPort?: string
  controlToken?: string
  virtualClock?: boolean
  now?: string
  journal?: string
  cors?: string[]
}

/** Adds the flags of `serve` for its behaviour, its clock and its control port. */
export function addControlFlags(command: Command): Command {
  return command
    .option(
      '--profile <file>',
      'answers to open questions: a JSON file, or "random", which prints them; repeatable',
      collect,
    )
    .option(
      '--explain',
      'name the stage that refused a call in the header x-refused-at, and record what was computed in the journal (8 MiB at most)',
    )
    .option(
      '--control',
      'open the control port for clock, journal, faults and scenes (spec/control.openapi.json); the first line then also has controlUrl and controlToken',
    )
    .option('--control-port <port>', 'port for it to listen on; 0: any free port')
    .option('--control-token <token>', 'token that it requires; random by default')
    .option('--virtual-clock', 'stop the clock; only the control port moves it')
    .option('--now <ms>', 'start time of the clock, in milliseconds since 1970')
    .option('--journal <calls>', 'number of calls that the journal holds')
    .option('--cors <origin>', 'allow pages of this origin to call; "*": any origin; repeatable', collect)
}

/** @throws SuiteError (`usage`) for values that cannot be used */
export function controlOptions(flags: ControlFlags): Partial<Parameters<typeof serve>[0]> {
  const opens = flags.control || flags.controlPort !== undefined || flags.controlToken !== undefined
  return {
    ...(opens ? { control: portAndToken(flags) } : {}),
    ...(flags.explain ? { explain: true } : {}),
    ...(flags.virtualClock ? { clock: 'virtual' as const } : {}),
    ...(flags.now === undefined ? {} : { now: positive('--now', flags.now, 0) }),
    ...(flags.journal === undefined ? {} : { journal: { size: wholeNumber('--journal', flags.journal, 1_000_000) } }),
    ...(flags.cors === undefined ? {} : { cors: flags.cors.map(originOf) }),
  }
}

/** An origin as browsers write it: without a path, the default port and upper case. */
function originOf(text: string): string {
  if (text === '*' || text === 'null') return text
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && url.host !== '' && /^\w[\w+.-]*:\/\/[^/?#@]+\/?$/.test(text)
  if (!isPlain)
    throw usageError(`Cannot use "${text}" for "--cors": expected an origin like "http://localhost:3000", or "*"`)
  return `${url.protocol}//${url.host}`
}

function portAndToken(flags: ControlFlags): { port?: number; token?: string } {
  if (flags.controlToken === '') throw usageError('Give "--control-token" a token that is not empty')
  const port = flags.controlPort === undefined ? undefined : portNumber('--control-port', flags.controlPort)
  return defined({ port, token: flags.controlToken })
}
