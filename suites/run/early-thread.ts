/** The entry of a thread that runs cases. It loads what they need before the main thread asks for them (threads.ts). */
import { parentPort, workerData } from 'node:worker_threads'
import { runInThread } from './worker.ts'

parentPort?.once('message', (request) => parentPort && runInThread(request, parentPort))

if (workerData === 'bundled') await Promise.all([import('../targets/bundled.ts'), import('../targets/in-memory.ts')])
else await Promise.all([import('../explore/listen.ts'), import('../targets/url.ts')])
