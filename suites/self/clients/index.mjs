/** Every test client: `{ id, kind, auth, check?, about, parts }`. */
import { answerClients } from './broken/answers.mjs'
import { clockClients } from './broken/clocks-and-nonces.mjs'
import { grantClients } from './broken/grants.mjs'
import { refreshClients } from './broken/refresh.mjs'
import { renewalClients } from './broken/renewal-storms.mjs'
import { requestClients } from './broken/requests.mjs'
import { retryClients } from './broken/retries.mjs'
import { scopeClients } from './broken/scopes.mjs'
import { secretClients } from './broken/secrets.mjs'
import { signatureClients } from './broken/signatures.mjs'
import { signedDataClients } from './broken/signed-data.mjs'
import { inertClients } from './inert.mjs'
import { callingClients } from './right/calls.mjs'
import { signingClients } from './right/signatures.mjs'
import { tokenClients } from './right/tokens.mjs'

const ofKind = (kind, clients) => clients.map((client) => ({ kind, ...client }))

export const clients = [
  ...ofKind('right', [...callingClients, ...signingClients, ...tokenClients]),
  ...ofKind('broken', [
    ...requestClients,
    ...signedDataClients,
    ...signatureClients,
    ...grantClients,
    ...refreshClients,
    ...renewalClients,
    ...scopeClients,
    ...retryClients,
    ...clockClients,
    ...secretClients,
    ...answerClients,
  ]),
  ...ofKind('inert', inertClients),
]
