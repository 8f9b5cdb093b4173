/** How precisely times are judged. All in ms. */

/** Servers may round a time to the second, so nothing is judged within this distance of one. */
export const roundingMs = 1000

/** 13-digit timestamps in milliseconds: from 2001 to 2286. Smaller numbers are not timestamps. */
export const firstTimestampMs = 1e12
export const endOfTimestampsMs = 1e13
