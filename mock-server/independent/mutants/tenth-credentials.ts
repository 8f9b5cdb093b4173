import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import { isAccepted, meet, paramsOf } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

/** Parts 2, 4.2, 5 and 5.2: credentials, and keys that were taken out of use. */
export const tenthCredentialMutants: IndependentMutant[] = [
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`": with a colon
    id: 'semicolon-for-colon-accepted-in-basic',
    breaks: 'basic/malformed',
    about: 'The fields are split like those of a signature.',
    create: () => ({
      rules: {
        basicPair: (encoded) => {
          const text = Buffer.from(encoded, 'base64').toString('utf8')
          return right.basicPair(encoded) ?? right.basicPair(toBase64(text.replace(';', ':')))
        },
      },
    }),
  },
  {
    // "apiKeySecret | string | yes"
    id: 'object-as-secret-accepted-in-grant',
    breaks: 'grants/params',
    about: 'The params go into the query of a database as they are, so `{"$ne": ""}` finds the key.',
    create: () => {
      const seen = watch()
      const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid || (method === 'manager/auth' && name === 'apiKeySecret' && isObject(value)),
          secretMatches: (received, expected, means) =>
            right.secretMatches(received, expected, means) ||
            (means === 'grant' && isObject(paramsOf(seen.request).apiKeySecret)),
        },
      }
    },
  },
  {
    // "`<api_key_id>:<api_key_secret>`": the secret of this key
    id: 'secret-of-any-created-key-opens-basic-of-initial-key',
    breaks: 'basic/credentials',
    about: 'The condition lacks brackets: initial, or of this id and with this secret.',
    create: () => ({
      rules: {
        secretsOf: (key, all, means) =>
          key.initial && means === 'basic'
            ? all().flatMap(({ publicKey, deleted, secret }) => (publicKey === undefined && !deleted ? [secret] : []))
            : [key.secret],
      },
    }),
  },
  {
    // "Callers prove their identity with an API key [...] or with an access token": each call for itself
    id: 'bare-call-beside-authorized-call-in-flight-let-in',
    breaks: 'authorization/required',
    needsState: true,
    about: 'The caller is kept in a variable of the server, and taken out when the call ends.',
    create: () => {
      const seen = watch(() => ({
        flight: undefined as Promise<MockAnswer> | undefined,
        letIn: new WeakSet<MockRequest>(),
      }))
      const wait: Around = (handle) => (request) => {
        const { memory } = seen
        if (request.headers.authorization !== undefined) {
          const flight = meet().then(() => handle(request))
          memory.flight = flight
          return flight.finally(() => {
            if (memory.flight === flight) memory.flight = undefined
          })
        }
        if (memory.flight === undefined) return handle(request)
        return memory.flight.then((answer) => {
          if (isAccepted(answer)) memory.letIn.add(request)
          return handle(request)
        })
      }
      return {
        around: chain(seen.around, wait),
        rules: {
          authorizationRequired: (method) =>
            right.authorizationRequired(method) && !seen.memory.letIn.has(seen.request),
        },
      }
    },
  },
]
