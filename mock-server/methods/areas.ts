import { succeed } from '../refusal.ts'
import type { Area } from '../rules/scopes.ts'
import { count, type Method, optional } from './method.ts'

const listings: [name: string, area: Area][] = [
  ['thread/listThreads', 'thread'],
  ['store/listStores', 'store'],
  ['inbox/listInboxes', 'inbox'],
  ['stream/listStreams', 'stream'],
]

/** Beyond the document: one harmless call in each of the other API areas, to show that their scopes open them. */
export const areaMethods: Method[] = listings.map(([name, area]) => ({
  name,
  area,
  params: { skip: optional(count), limit: optional(count) },
  run: () => succeed({ list: [], count: 0 }),
}))
