/** A request as the handler sees it: complete and unchanged. */
export interface MockRequest {
  /** As received: `POST`. */
  method: string
  /** Path and query as received. */
  target: string
  /** Names in lower case. */
  headers: { readonly [name: string]: string | undefined }
  body: Buffer
  /** IPv4, or IPv6 where the server listens on it. */
  remoteAddress: string
  /** Numbers the connections of one HTTP server, from 1; absent where there is no connection. */
  connection?: number
}

/** An answer as the handler gives it. */
export interface MockAnswer {
  status: number
  headers: { [name: string]: string }
  body: string
  /** Close the connection without any answer (a fault, or a deliberately broken server). */
  hangUp?: boolean
  /** Send the body in chunks, without Content-Length. */
  chunked?: boolean
  /** For a recording; never sent. */
  notes?: AnswerNotes
}

/** Notes on how an answer was made. */
interface AnswerNotes {
  /** Where a refused call was stopped, such as `signature/mac`. */
  stage?: string
  /** The deliberate faults that applied to the call, in the order in which they were armed. */
  faults?: string[]
  /** The body before a fault changed it. */
  unspoilt?: string
}

export type Handle = (request: MockRequest) => MockAnswer | Promise<MockAnswer>
