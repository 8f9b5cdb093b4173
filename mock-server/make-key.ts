import { createSecretKey } from 'node:crypto'
import type { ApiKey } from './state.ts'

/** A key that is active; public keys are put in by the caller. */
export function makeKey(
  fields: Pick<ApiKey, 'id' | 'secret' | 'name' | 'scope' | 'createdMs'> & { initial?: boolean },
): ApiKey {
  return {
    ...fields,
    initial: fields.initial ?? false,
    macKey: createSecretKey(fields.secret, 'utf8'),
    enabled: true,
    deleted: false,
  }
}
