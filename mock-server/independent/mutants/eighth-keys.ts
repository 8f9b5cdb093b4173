import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const hour = 3_600_000

/** Part 2, 4.1 and 8: creating and counting keys. */
export const eighthKeyMutants: IndependentMutant[] = [
  {
    // "secret | createApiKey result | string | Secret of the key"
    id: 'secret-of-created-key-told-in-base64',
    breaks: 'keys/created-key-works',
    about: 'The server compares with the text that it encoded.',
    create: () => ({
      rules: { createKeyResult: ({ id, secret }) => ({ id, secret: Buffer.from(secret).toString('base64') }) },
    }),
  },
  {
    // "ED25519 public key in PEM form (`-----BEGIN PUBLIC KEY-----` ... `-----END PUBLIC KEY-----`, lines joined by LF)"
    id: 'public-key-without-its-pem-lines-taken',
    breaks: 'keys/public-key-material',
    create: () => ({
      rules: {
        publicKey: (pem, profile) =>
          right.publicKey(pem, profile) ??
          right.publicKey(`-----BEGIN PUBLIC KEY-----\n${pem}\n-----END PUBLIC KEY-----`, profile),
      },
    }),
  },
  {
    // "At most 10 API keys can be created."
    id: 'keys-older-than-an-hour-not-counted',
    breaks: 'limits/ten-keys',
    needsState: true,
    about: 'The limit is a limit for each hour.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keysCounted: (all, profile) =>
            right.keysCounted(
              all.filter(({ createdMs }) => seen.nowMs < createdMs + hour),
              profile,
            ),
        },
      }
    },
  },
]
