/** How much of each sequence a budget of calls allows, so that every kind gets its share. */
export interface Sizes {
  /** Operations that are tried on each part of a call before anything else. */
  readonly firstTurns: number
  /** Session storms, and how many sessions the largest makes. */
  readonly storms: number
  readonly manySessions: number
  /** The number of keys that the sequences use. */
  readonly users: number
  readonly raceRounds: number
  /** Sessions at once. */
  readonly crowd: number
  /** How many credentials are tried in the place of every other. */
  readonly crossed: number
  /** How many revoked tokens are tried again. */
  readonly revokedTries: number
  /** Uses of one token. */
  readonly uses: number
  /** Every form of bodies, or only those that a server may make of one. */
  readonly everyForm: boolean
  /** How many keys request tokens bound to addresses. */
  readonly boundUsers: number
  /** Sizes of long bodies, bytes. */
  readonly longBodies: readonly number[]
  /** Calls of the matrix and of the walk. */
  readonly matrixCalls: number
  readonly walkCalls: number
  /** Calls that the last stages need. */
  readonly reserved: number
}

const everyLength = [1100, 2100, 4200, 8300, 16_500, 20_000, 33_000, 66_000]

/** @param maxCalls the budget of an exploration */
export function sizesFor(maxCalls: number): Sizes {
  if (maxCalls < 2000)
    return {
      firstTurns: 2,
      storms: 0,
      manySessions: 20,
      users: 1,
      raceRounds: 1,
      crowd: 20,
      crossed: 3,
      revokedTries: 30,
      uses: 24,
      everyForm: false,
      boundUsers: 1,
      longBodies: [8300, 20_000],
      matrixCalls: 100,
      walkCalls: 100,
      reserved: Math.round(maxCalls * 0.2),
    }
  if (maxCalls < 10_000)
    return {
      firstTurns: 12,
      storms: 1,
      manySessions: 20,
      users: 3,
      raceRounds: 2,
      crowd: 24,
      crossed: 6,
      revokedTries: 40,
      uses: 110,
      everyForm: false,
      boundUsers: 1,
      longBodies: [20_000, 66_000],
      matrixCalls: maxCalls < 7000 ? 150 : 300,
      walkCalls: 120,
      reserved: 380,
    }
  return {
    firstTurns: 8,
    storms: 2,
    manySessions: 62,
    users: 5,
    raceRounds: 5,
    crowd: 24,
    crossed: 14,
    revokedTries: 150,
    uses: 120,
    everyForm: true,
    boundUsers: 2,
    longBodies: everyLength,
    matrixCalls: Number.POSITIVE_INFINITY,
    walkCalls: Number.POSITIVE_INFINITY,
    reserved: 900,
  }
}
