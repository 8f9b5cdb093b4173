/** The parts that take, keep and renew a pair of tokens: interface.md §4.2 and §5.3. */

/** A token is renewed when a tenth of its life is left, but no earlier than this. */
const longestMarginMs = 30_000
/** After this many renewals without an accepted call, renewing does not help; it is tried again later. */
const renewalsWorthTrying = 2
const renewalPauseMs = 60_000

export const tokenParts = {
  /** The access token of the next call. */
  async tokenFor(client) {
    const { parts } = client
    if (client.pair === undefined || parts.needsRenewal(client, client.pair)) await parts.renewOnce(client)
    parts.checkGranted(client, client.pair)
    client.pair.isSent = true
    return client.pair.accessToken
  },

  /** A pair is used before it is renewed, whatever the clocks say. */
  needsRenewal: (client, pair) => pair.isRefused || (pair.isSent && client.parts.isDue(client, pair)),

  isDue(client, { expiryMs, receivedAtMs }) {
    const marginMs = Math.min(longestMarginMs, Math.max(0, expiryMs - receivedAtMs) / 10)
    return client.parts.now(client) >= expiryMs - marginMs
  },

  /** All workers wait for the same renewal. */
  renewOnce(client) {
    client.renewal ??= client.parts.renew(client).finally(() => {
      client.renewal = undefined
    })
    return client.renewal
  },

  async renew(client) {
    const { parts, pair } = client
    if (pair?.isRefused && parts.now(client) < pair.expiryMs) parts.countRefusal(client)
    const refreshed = pair && (await parts.refresh(client, pair))
    if (refreshed === undefined) parts.dropPair(client)
    parts.keepPair(client, refreshed ?? (await parts.grant(client)))
  },

  /** Counts renewals of tokens that were refused in the middle of their life; throws when they make no difference. */
  countRefusal(client) {
    if (Date.now() - client.lastRenewalMs > renewalPauseMs) client.renewalsAfterRefusal = 0
    if (client.renewalsAfterRefusal >= renewalsWorthTrying) throw new Error('Calls are refused with new tokens too')
    client.renewalsAfterRefusal += 1
    client.lastRenewalMs = Date.now()
  },

  dropPair: (client) => {
    client.pair = undefined
  },
  keepPair: (client, pair) => {
    client.pair = pair
  },

  /** Returns the new pair; undefined when the refresh token is refused, or its answer was lost twice: the token is spent then. */
  async refresh(client, { refreshToken }) {
    const { parts } = client
    for (let tries = 1; tries <= 2; tries += 1) {
      const outcome = await parts.askForPair(client, 'refresh', parts.refreshParams(client, refreshToken))
      if (outcome.kind === 'accepted') return outcome.pair
      if (outcome.kind === 'refused') return undefined
    }
    return undefined
  },

  async grant(client) {
    const { parts } = client
    for (let tries = 1; ; tries += 1) {
      const outcome = await parts.askForPair(client, 'grant', parts.grantParams(client))
      if (outcome.kind === 'accepted') return outcome.pair
      if (outcome.kind === 'refused' || tries === 2) throw new Error(`No token: ${outcome.reason}`)
    }
  },

  grantParams: (client) => ({
    grantType: 'api_key_credentials',
    apiKeyId: client.env.SVC_KEY_ID,
    apiKeySecret: client.env.SVC_KEY_SECRET,
    scope: client.parts.scopeAsked(client),
  }),
  refreshParams: (_client, refreshToken) => ({ grantType: 'refresh_token', refreshToken }),
  scopeAsked: (client) => client.scope,

  /** Calls `manager/auth` and waits out what throttles it. */
  async askForPair(client, purpose, params) {
    const { parts } = client
    for (let tries = 1; ; tries += 1) {
      const outcome = await parts.attempt(client, { purpose, method: 'manager/auth', params, tries })
      if (outcome.kind === 'throttled' && tries < 4) continue
      if (outcome.kind === 'throttled') throw new Error(`No token: ${outcome.reason}`)
      if (outcome.kind !== 'accepted') return outcome
      const pair = parts.readPair(client, outcome.result)
      return pair ? { ...outcome, pair } : { kind: 'broken', reason: 'The answer has no pair of tokens' }
    }
  },

  readPair(client, { accessToken, refreshToken, accessTokenExpiry, scope } = {}) {
    if (typeof accessToken !== 'string' || typeof refreshToken !== 'string') return undefined
    const times = { expiryMs: Number(accessTokenExpiry), receivedAtMs: client.parts.now(client) }
    return { accessToken, refreshToken, ...times, scope, isSent: false, isRefused: false }
  },

  /** Throws when the server granted less than the calls need. */
  checkGranted(client, { scope }) {
    if (!Array.isArray(scope)) return
    const granted = new Set(scope.map((entry) => String(entry).toLowerCase()))
    const missing = client.scope.filter((entry) => !isRestriction(entry) && !granted.has(entry.toLowerCase()))
    if (missing.length > 0) throw new Error(`The scope ${missing.join(', ')} was not granted`)
  },

  noteAccepted(client) {
    client.renewalsAfterRefusal = 0
  },
  /** A late refusal of an older token says nothing about the newer one. */
  noteRefused(client, token) {
    if (token !== undefined && client.pair?.accessToken === token) client.pair.isRefused = true
  },
}

/** These entries restrict a token, and servers need not repeat them in the granted scope. */
const isRestriction = (entry) => /^(session|ipAddr|expiresIn):/.test(entry)
