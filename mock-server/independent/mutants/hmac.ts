import { createHmac, createSecretKey } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 5.1 for keys without public key: the MAC, its encoding, its comparison, the secret that makes it. */
export const hmacMutants: IndependentMutant[] = [
  {
    id: 'text-behind-mac-ignored',
    breaks: 'signatures/hmac-length',
    create: () => ({ rules: { macTextMatches: (received, expected) => received.startsWith(expected) } }),
  },
  {
    id: 'sixteen-byte-mac-accepted',
    breaks: 'signatures/hmac-length',
    create: () => ({
      rules: {
        macTexts: (bytes, mac, profile) => [
          ...right.macTexts(bytes, mac, profile),
          mac.subarray(0, 16).toString('base64'),
        ],
      },
    }),
  },
  {
    id: 'empty-mac-accepted',
    breaks: 'signatures/hmac',
    about: 'The check runs only when the field of the signature is truthy.',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) => received === '' || right.macTextMatches(received, expected),
      },
    }),
  },
  {
    id: 'letter-case-of-mac-ignored',
    breaks: 'signatures/hmac',
    create: () => ({
      rules: { macTextMatches: (received, expected) => received.toLowerCase() === expected.toLowerCase() },
    }),
  },
  {
    id: 'mac-decoded-leniently',
    breaks: 'signatures/hmac-encoding',
    about: 'Buffer.from takes base64url and skips characters that are not BASE64.',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) => Buffer.from(received, 'base64').equals(Buffer.from(expected, 'base64')),
      },
    }),
  },
  {
    id: 'plus-in-mac-read-as-space',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'A right signature is refused when its BASE64 contains a plus sign, about every third time.',
    create: () => ({
      rules: { macTextMatches: (received, expected) => received.replaceAll('+', ' ') === expected },
    }),
  },
  {
    id: 'mac-wrong-at-block-boundary',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'A right signature is refused when the signed data fills whole SHA-256 blocks of 64 bytes.',
    create: () => ({
      rules: {
        mac: (data, key) => right.mac(data.length % 64 === 0 ? Buffer.concat([data, Buffer.alloc(1)]) : data, key),
      },
    }),
  },
  {
    id: 'hmac-sha1-accepted',
    breaks: 'signatures/hmac',
    about: 'An older algorithm, whose MAC has 20 bytes too, is still accepted.',
    create: () => {
      let older = ''
      return {
        rules: {
          mac: (data, key) => {
            older = createHmac('sha1', key.macKey).update(data).digest('base64')
            return right.mac(data, key)
          },
          macTexts: (bytes, mac, profile) => [...right.macTexts(bytes, mac, profile), older],
        },
      }
    },
  },
  {
    id: 'mac-with-hex-decoded-secret-accepted',
    breaks: 'signatures/hmac',
    create: () => ({
      rules: {
        signingKeys: (key, _all, kind) =>
          kind === 'hmac' ? [key, { ...key, macKey: createSecretKey(Buffer.from(key.secret, 'hex')) }] : [key],
      },
    }),
  },
  {
    id: 'mac-with-key-id-as-secret-accepted',
    breaks: 'signatures/hmac',
    create: () => ({
      rules: {
        signingKeys: (key, _all, kind) =>
          kind === 'hmac' ? [key, { ...key, macKey: createSecretKey(key.id, 'utf8') }] : [key],
      },
    }),
  },
  {
    id: 'mac-of-key-with-same-name-accepted',
    breaks: 'signatures/key-id',
    needsState: true,
    about: 'Secrets are looked up by the name of the key.',
    create: () => ({
      rules: {
        signingKeys: (key, all, kind) => (kind === 'hmac' ? all().filter(({ name }) => name === key.name) : [key]),
      },
    }),
  },
  {
    id: 'mac-once-right-stays-right',
    breaks: 'signatures/request-body',
    needsState: true,
    about: 'Verdicts are cached by the text of the signature, so it fits any later request.',
    create: () => {
      const seen = watch(() => ({ rightTexts: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          macTextMatches: (received, expected) => {
            if (right.macTextMatches(received, expected)) seen.memory.rightTexts.add(received)
            return seen.memory.rightTexts.has(received)
          },
        },
      }
    },
  },
  {
    id: 'mac-checked-once-per-key-and-timestamp',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'After a right signature, any other one of the same key with the same timestamp is accepted.',
    create: () => {
      const seen = watch(() => ({ rightOnes: new Set<string>() }))
      let current = ''
      return {
        around: seen.around,
        rules: {
          mac: (data, key) => {
            const text = Buffer.from(data).toString('latin1')
            current = `${key.id};${text.slice(0, text.indexOf(';'))}`
            return right.mac(data, key)
          },
          macTextMatches: (received, expected) => {
            if (right.macTextMatches(received, expected)) seen.memory.rightOnes.add(current)
            return seen.memory.rightOnes.has(current)
          },
        },
      }
    },
  },
  {
    id: 'every-tenth-mac-not-checked',
    breaks: 'signatures/hmac',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ checks: 0 }))
      return {
        around: seen.around,
        rules: {
          macTextMatches: (received, expected) => {
            seen.memory.checks += 1
            return seen.memory.checks % 10 === 0 || right.macTextMatches(received, expected)
          },
        },
      }
    },
  },
  {
    id: 'mac-not-checked-after-twenty-right-ones',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'A key that has signed twenty calls is trusted.',
    create: () => {
      const seen = watch(() => ({ rightOnes: new Map<string, number>() }))
      let current = ''
      return {
        around: seen.around,
        rules: {
          mac: (data, key) => {
            current = key.id
            return right.mac(data, key)
          },
          macTextMatches: (received, expected) => {
            const { rightOnes } = seen.memory
            const count = rightOnes.get(current) ?? 0
            if (count >= 20) return true
            const matches = right.macTextMatches(received, expected)
            if (matches) rightOnes.set(current, count + 1)
            return matches
          },
        },
      }
    },
  },
  {
    id: 'key-created-by-ecc-call-cannot-sign',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'A secret-based key inherits the kind of the key that signed its creation.',
    create: () => {
      const seen = watch(() => ({ children: new Set<string>() }))
      let means: string | undefined
      return {
        around: seen.around,
        rules: {
          keyLimit: (shown) => {
            means = shown
            return right.keyLimit(shown)
          },
          storedKey: (key) => {
            if (means === 'ecc' && key.publicKey === undefined) seen.memory.children.add(key.id)
            return key
          },
          hmacTakenFor: (key) => right.hmacTakenFor(key) && !seen.memory.children.has(key.id),
        },
      }
    },
  },
]
