import type { Socket } from 'node:net'
import type { AnswerListener } from './answer-parser.ts'
import type { UpstreamFailure } from './upstream.ts'

/** Who is told of an answer as it comes, whatever the protocol, and of what may become of its connection. */
export type UpstreamListener = AnswerListener & {
  /** After a 101: the connection itself, and what came behind the answer. */
  onUpgrade(socket: Socket, behind: Buffer): void
  /** Nothing else is told after it. */
  onBroken(broken: Broken): void
}

/** How an exchange ended before its answer was complete. */
export type Broken =
  /** By the visitor, who sent no more of its request, or took no more of its answer. */
  | { kind: 'visitor-stalled' }
  /** The upstream has looked at nothing of it, and there is no connection to send it again over. */
  | { kind: 'unreached'; failure: UpstreamFailure }
  /** By the upstream, before a byte of an answer came. */
  | { kind: 'unanswered'; failure: UpstreamFailure }
  /** By the upstream, within its answer: in the head, behind an interim answer, or in the body. */
  | { kind: 'half-answered'; failure: UpstreamFailure }

/** Who has been given more of an answer than it takes: how much it has taken. */
export type SlowReader = { readonly bytesSent: number }
