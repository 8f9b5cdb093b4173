/** Calls at the same time, drawn with a lane for each connection and time to the right. */
import { groupBy } from '../engine/group.ts'
import type { HistoryCall } from './report.ts'

/** A call of a history with its number in the drawing. */
interface DrawnCall extends HistoryCall {
  number: number
}

/** The calls of each connection, numbered in the order of their start; connections in the order of their first call. */
export function lanesOf(history: readonly HistoryCall[]): { connection: string; calls: DrawnCall[] }[] {
  const lanes = groupBy(numbered(history), ({ connection }) => connection)
  return [...lanes].map(([connection, calls]) => ({ connection, calls }))
}

/** The calls in the order of their start. */
export function numbered(history: readonly HistoryCall[]): DrawnCall[] {
  return [...history]
    .sort((one, other) => one.startMs - other.startMs)
    .map((call, index) => ({ ...call, number: index + 1 }))
}

/** The end of the last call, and never 0, because positions are divided by it. */
export function lastMs(history: readonly HistoryCall[]): number {
  return Math.max(0.001, ...history.map(({ endMs }) => endMs))
}

/** Describes a numbered call and its time. */
export function callSentence({ number, startMs, endMs, call, answer }: DrawnCall): string {
  return `${number}  ${call}: ${answer} (${startMs.toFixed(1)} to ${endMs.toFixed(1)} ms)`
}

const laneWidth = 56

/** The drawing for a terminal: the lanes, then one line for each call. */
export function historyLines(history: readonly HistoryCall[]): string[] {
  if (history.length === 0) return []
  const lanes = lanesOf(history)
  const names = lanes.map(({ connection }) => `connection ${connection}`)
  const width = Math.max(...names.map((name) => name.length))
  const drawn = lanes.map(({ calls }, index) => `${names[index]?.padEnd(width)}  ${laneOf(calls, lastMs(history))}`)
  return [...drawn, ...numbered(history).map(callSentence)]
}

function laneOf(calls: readonly DrawnCall[], endMs: number): string {
  const column = (ms: number): number => Math.round((ms / endMs) * (laneWidth - 1))
  return calls
    .reduce((lane, call) => {
      const label = String(call.number)
      const from = Math.max(column(call.startMs), lane.length)
      const room = Math.max(column(call.endMs) - from + 1, label.length)
      return `${lane.padEnd(from)}${barOf(label, room)}`
    }, '')
    .trimEnd()
}

/** `├─1──┤`, or only the number where there is no more room. */
function barOf(label: string, room: number): string {
  if (room < label.length + 2) return label.padEnd(room, '─')
  const before = Math.floor((room - label.length - 2) / 2)
  return `├${'─'.repeat(before)}${label}${'─'.repeat(room - label.length - 2 - before)}┤`
}
