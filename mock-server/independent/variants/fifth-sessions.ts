import type { IndependentVariant } from '../independent-variant.ts'

/** Parts 2, 3 and 5.4: sessions. */
export const fifthSessionVariants: IndependentVariant[] = [
  {
    id: 'created-keys-are-one-user-and-names-add',
    questions: ['sessions/user', 'sessions/reused-name'],
    about: 'The initial key is a user of its own.',
    profile: { reusedSessionName: 'adds' },
    create: () => ({ rules: { sessionUser: ({ initial }) => (initial ? 'the owner' : 'the team') } }),
  },
  {
    id: 'session-names-without-capitals-and-refused-while-they-live',
    questions: ['sessions/name-rules', 'sessions/reused-name'],
    create: () => ({
      rules: {
        reusedSessionName: () => 'refused',
        paramTaken: (method, name, value, valid) =>
          valid &&
          (method !== 'manager/auth' ||
            name !== 'scope' ||
            !Array.isArray(value) ||
            !value.some((word) => /^session:.*[A-Z]/s.test(String(word)))),
      },
    }),
  },
]
