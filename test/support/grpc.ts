import { promisify } from 'node:util'
import {
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ClientWritableStream,
  credentials,
  type GrpcObject,
  loadPackageDefinition,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerErrorResponse,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

export type Note = { text: string; payload: Buffer; times: number }
type Wanted = Partial<Note>
type Answered = (error: ServiceError | null, note: Note) => void

/** The client that grpc-js makes of the service. */
export type EchoClient = Client & {
  say(note: Wanted, metadata: Metadata, options: { deadline?: number }, answered: Answered): ClientUnaryCall
  collect(answered: Answered): ClientWritableStream<Wanted>
  repeat(note: Wanted): ClientReadableStream<Note>
  chat(metadata?: Metadata): ClientDuplexStream<Wanted, Note>
  missing(answered: Answered): void
}

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
const LIMITS = { 'grpc.max_receive_message_length': MESSAGE_BYTES_MAX, 'grpc.max_send_message_length': MESSAGE_BYTES_MAX }

const proto = new URL('./echo.proto', import.meta.url).pathname
const loaded = loadPackageDefinition(loadSync(proto)) as unknown as { namesake: { test: GrpcObject } }
const Echo = loaded.namesake.test.Echo as ServiceClientConstructor

export type GrpcUpstream = {
  port: number
  /** How many calls were cancelled by whoever made them. */
  cancelled(): number
  stop(): void
  /** Ends when the calls under way have. */
  drain(): Promise<void>
}

/** A real gRPC server. With `tls` it speaks over TLS. A note's text decides: `fail` fails, `hang` is never answered. */
export async function startGrpcUpstream({
  port = 0,
  tls,
}: {
  port?: number
  tls?: { key: string; chain: string }
} = {}): Promise<GrpcUpstream> {
  let cancelled = 0
  const server = new Server(LIMITS)
  server.addService(Echo.service, {
    say(call: ServerUnaryCall<Note, Wanted>, answer: sendUnaryData<Wanted>) {
      call.on('cancelled', () => (cancelled += 1))
      const { text, payload } = call.request
      if (text === 'hang') return
      const trailers = new Metadata()
      trailers.set('x-trailer', 'behind')
      trailers.set('x-trailer-bin', Buffer.from([0, 1, 255]))
      if (text === 'fail') return answer(failure(trailers))
      const head = new Metadata()
      for (const value of call.metadata.get('x-mine')) head.add('x-yours', value)
      call.sendMetadata(head)
      answer(null, { text: `${text} at ${call.getHost()}`, payload }, trailers)
    },
    collect(call: ServerReadableStream<Note, Wanted>, answer: sendUnaryData<Wanted>) {
      call.on('cancelled', () => (cancelled += 1))
      const texts: string[] = []
      call.on('data', ({ text }: Note) => texts.push(text))
      call.on('end', () => answer(null, { text: texts.join(' ') }))
    },
    repeat(call: ServerWritableStream<Note, Wanted>) {
      const { text, times } = call.request
      for (let i = 0; i < times; i += 1) call.write({ text: `${text} ${i}` })
      call.end()
    },
    chat(call: ServerDuplexStream<Note, Wanted>) {
      call.on('cancelled', () => (cancelled += 1))
      call.on('data', ({ text }: Note) => {
        if (text === 'fail') call.emit('error', failure(new Metadata()))
        else call.write({ text: `you said ${text}` })
      })
      call.on('end', () => call.end())
      call.on('error', () => {})
    },
  })
  const secure = tls && ServerCredentials.createSsl(null, [{ private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.chain) }])
  const bind = promisify(server.bindAsync.bind(server))
  const bound = await bind(`localhost:${port}`, secure ?? ServerCredentials.createInsecure())
  return {
    port: bound!,
    cancelled: () => cancelled,
    stop: () => server.forceShutdown(),
    drain: () => promisify(server.tryShutdown.bind(server))(),
  }
}

function failure(metadata: Metadata): Partial<ServerErrorResponse> & ServerErrorResponse {
  return Object.assign(new Error('no such customer'), { code: status.FAILED_PRECONDITION, details: 'no such customer', metadata })
}

/** A real gRPC client that visits a hostname at a loopback port. */
export function visitGrpc({ port, hostname, ca }: { port: number; hostname: string; ca: string }): EchoClient {
  const names = { 'grpc.ssl_target_name_override': hostname, 'grpc.default_authority': hostname }
  const secure: ChannelCredentials = credentials.createSsl(Buffer.from(ca))
  return new Echo(`127.0.0.1:${port}`, secure, { ...LIMITS, ...names }) as unknown as EchoClient
}
