/** How precisely moments are judged. All in ms. */

/** Servers may round a moment to the second, so nothing is judged closer than this to one. */
export const roundingMs = 1000

/** 13-digit timestamps in milliseconds: from 2001 to 2286. Numbers below are not moments. */
export const firstTimestampMs = 1e12
export const endOfTimestampsMs = 1e13
