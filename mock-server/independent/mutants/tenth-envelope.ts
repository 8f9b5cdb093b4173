import type { MockAnswer } from '../../http-server.ts'
import { methods } from '../../methods/index.ts'
import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, readMembers } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 1. */
export const tenthEnvelopeMutants: IndependentMutant[] = [
  {
    // "Method names have the form `<group>/<operation>`."
    id: 'beginning-of-operation-suffices',
    breaks: 'envelope/unknown-method',
    about: 'A name that fits the beginning of one method only stands for it, as on a command line.',
    create: () => ({
      rules: {
        methodName: (name) => {
          const fitting = [...methods.keys()].filter((known) => known.startsWith(name))
          return /^[a-z]+\/./.test(name) && fitting.length === 1 ? (fitting[0] ?? name) : name
        },
      },
    }),
  },
  {
    // "params | object | yes"
    id: 'params-as-json-text-accepted',
    breaks: 'envelope/request-members',
    about: 'For clients that encode the params before the envelope: `"params": "{}"`.',
    create: () => ({
      rules: {
        paramsTaken: (value, profile) =>
          right.paramsTaken(value, profile) || (typeof value === 'string' && readMembers(value) !== undefined),
      },
    }),
  },
  {
    // "id | integer | Chosen by the caller": a call with the id of an earlier one is a call of its own
    id: 'refusal-kept-for-its-id-on-connection',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'Answers to a call that is sent again come from a memory, which holds refusals only.',
    create: () => {
      const seen = watch(() => ({ refusals: new Map<string, MockAnswer>() }))
      const placeOf = (body: Buffer, connection: number | undefined) => {
        const id = readMembers(body.toString('utf8'))?.id
        return connection === undefined || typeof id !== 'number' ? undefined : `${connection} ${id}`
      }
      const repeat: Around = (handle) => (request) => {
        const known = seen.memory.refusals.get(placeOf(request.body, request.connection) ?? '')
        return known === undefined ? handle(request) : { ...known, headers: { ...known.headers } }
      }
      const note = answerThrough((answer, { body, connection }) => {
        const place = placeOf(body, connection)
        if (place !== undefined && !isAccepted(answer)) seen.memory.refusals.set(place, answer)
        return answer
      })
      return { around: chain(seen.around, note, repeat) }
    },
  },
]
