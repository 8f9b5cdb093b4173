import { rules as right } from '../../rules.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

/** Throws if an object of a JSON text has two members of one name. */
function refuseRepeatedMembers(text: string): void {
  const open: Set<string>[] = []
  for (const [token, member] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (member !== undefined) {
      const name = JSON.parse(member) as string
      if (open.at(-1)?.has(name)) throw new SyntaxError(`Send ${name} once`)
      open.at(-1)?.add(name)
    }
  }
}

const mark = Buffer.from('efbbbf', 'hex')

/** Parts 1 and 5.1: requests and their signatures. */
export const fifthRequestVariants: IndependentVariant[] = [
  {
    id: 'repeated-and-unknown-members-refused',
    questions: ['envelope/duplicate-members', 'envelope/extra-members'],
    profile: { extraMembers: 'refused' },
    create: () => ({
      rules: {
        parseBody: (text) => {
          const value = right.parseBody(text)
          refuseRepeatedMembers(text)
          return value
        },
      },
    }),
  },
  {
    id: 'query-taken-and-signed-as-part-of-uri',
    questions: ['signatures/query', 'envelope/other-path'],
    create: () => ({
      rules: {
        isCall: (httpMethod, path, callPath) => httpMethod === 'POST' && path.split('?')[0] === callPath,
        dataToSign: (parts) => {
          const query = parts.target.indexOf('?')
          return right.dataToSign({ ...parts, uri: parts.uri + (query < 0 ? '' : parts.target.slice(query)) })
        },
      },
    }),
  },
  {
    id: 'byte-order-mark-skipped',
    questions: ['envelope/encoding'],
    about: 'A signature covers it, because it is sent.',
    create() {
      const seen = watch()
      return {
        around: (handle, context) =>
          seen.around(
            (request) =>
              handle(
                request.body.subarray(0, 3).equals(mark) ? { ...request, body: request.body.subarray(3) } : request,
              ),
            context,
          ),
        rules: { dataToSign: (parts) => right.dataToSign({ ...parts, body: seen.request.body }) },
      }
    },
  },
  {
    id: 'nonces-of-12-to-40-letters-and-timestamps-for-ninety-seconds',
    questions: ['signatures/nonce-length', 'signatures/time-window'],
    profile: { timeWindowMs: 90_000, nonceMaxLength: 40 },
    create: () => ({
      rules: { nonceTaken: (nonce, profile) => nonce.length >= 12 && right.nonceTaken(nonce, profile) },
    }),
  },
  {
    id: 'timestamps-up-to-an-hour-old-or-two-seconds-ahead',
    questions: ['signatures/time-window', 'signatures/nonce-burnt'],
    profile: { timeWindowMs: 3_600_000, nonceBurntByBadSignature: false },
    create: () => ({
      rules: {
        timestampTaken: (timestamp, nowMs, profile) =>
          right.timestampTaken(timestamp, nowMs, profile) && Number(timestamp) <= nowMs + 2000,
      },
    }),
  },
]
