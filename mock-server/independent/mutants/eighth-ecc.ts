import { rules as right } from '../../rules.ts'
import { isAccepted, readMembers } from '../calls.ts'
import { callerOf, isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Keys with a public key: part 5.1, and what parts 2, 4.1 and 5.2 say about them. */
export const eighthEccMutants: IndependentMutant[] = [
  {
    // "made with the private key that matches the public key"
    id: 'public-keys-of-one-creator-sign-for-each-other',
    breaks: 'signatures/key-id',
    create: () => {
      const seen = watch(() => ({ creators: new Map<string, string | undefined>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            seen.memory.creators.set(key.id, callerOf(seen)?.id)
            return key
          },
          signingKeys: (key, all, kind) => {
            const { creators } = seen.memory
            return kind === 'hmac' ? [key] : all().filter(({ id }) => creators.get(id) === creators.get(key.id))
          },
        },
      }
    },
  },
  {
    // "Header: `Authorization: svc-hmac-sha256 <api_key_id>;1;<timestamp>;<nonce>;<signature>`"
    id: 'sixth-field-ignored-in-ecc-signatures',
    breaks: 'signatures/header-exact',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          headerFields: (credentials) => {
            const fields = right.headerFields(credentials)
            return isSignedWithPublicKey(seen) ? fields.slice(0, 5) : fields
          },
        },
      }
    },
  },
  {
    // "request body exactly as sent"
    id: 'ecc-over-body-without-white-space-accepted',
    breaks: 'signatures/request-body',
    about: 'The signature of the body as it is written again after reading fits too.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const members = isSignedWithPublicKey(seen) ? readMembers(parts.body.toString('utf8')) : undefined
            const again = members === undefined ? [] : [{ ...parts, body: Buffer.from(JSON.stringify(members)) }]
            return [parts, ...again].flatMap(right.dataToSign)
          },
        },
      }
    },
  },
  {
    // "Not usable with an API key that has a public key; such a key accepts only ECC signatures."
    id: 'public-key-created-in-session-takes-basic',
    breaks: 'basic/public-key-refused',
    create: () => {
      const seen = watch(() => ({ made: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair?.session !== undefined) seen.memory.made.add(key.id)
            return key
          },
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) || (means === 'basic' && seen.memory.made.has(key.id)),
        },
      }
    },
  },
  {
    // "such a key accepts only ECC signatures"
    id: 'third-grant-to-public-key-accepted',
    breaks: 'grants/public-key-refused',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ tries: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          secretTakenFor: (key, means) => {
            if (right.secretTakenFor(key, means) || means === 'basic') return right.secretTakenFor(key, means)
            const tries = (seen.memory.tries.get(key.id) ?? 0) + 1
            seen.memory.tries.set(key.id, tries)
            return tries >= 3
          },
        },
      }
    },
  },
  {
    // "such a key accepts only ECC signatures"
    id: 'basic-accepted-for-public-key-on-connection-of-its-signature',
    breaks: 'basic/public-key-refused',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ signed: new Set<string>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const signer = inner(request)
            const signed = isSignedWithPublicKey(seen) ? callerOf(seen)?.id : undefined
            const answer = await signer
            if (signed !== undefined && isAccepted(answer)) seen.memory.signed.add(`${request.connection}/${signed}`)
            return answer
          }
        },
        rules: {
          secretTakenFor: (key, means) => {
            const { connection } = seen.request
            const isKnown = connection !== undefined && seen.memory.signed.has(`${connection}/${key.id}`)
            return right.secretTakenFor(key, means) || (means === 'basic' && isKnown)
          },
        },
      }
    },
  },
  {
    // "A key has no time-to-live. It can be disabled or deleted."
    id: 'public-key-lost-when-secret-key-takes-its-name',
    breaks: 'limits/earlier-keys-kept',
    needsState: true,
    about: 'The column of the public key is written by the name of the key.',
    create: () => {
      const seen = watch(() => ({ emptied: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const sameName = [...seen.context.state.keys.values()].filter(({ name }) => name === key.name)
            if (key.publicKey === undefined) for (const { id } of sameName) seen.memory.emptied.add(id)
            return key
          },
          eccTakenFor: (key) => right.eccTakenFor(key) && !seen.memory.emptied.has(key.id),
        },
      }
    },
  },
]
