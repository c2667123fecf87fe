import { type AnswerStream, makeAnswers } from './answer-stream.ts'
import type { ReadAnswer } from './llhttp.ts'
import { disagreement, minimise } from './minimise.ts'
import { readAnswersByUs, readRequestsByUs } from './our-readers.ts'
import { cut } from './pieces.ts'
import { Random } from './random.ts'
import { readAnswerReference, readReference } from './reference.ts'
import { makeRequests } from './request-stream.ts'
import { hostOf, originForm, trailersBeyondHop } from './wire-rules.ts'

export type ReadersRun = { messages: number; accepted: number; refused: number }

/** Fields that frame a message, and mean nothing in a trailer. */
const FRAMING = /^(content-length|transfer-encoding|connection|proxy-connection|upgrade)$/im
/** An interim answer ends with its head, whatever it says; llhttp looks at what it says. */
const FRAMED_INTERIM =
  /HTTP\/1\.0 1\d\d|HTTP\/1\.1 1\d\d[^\r\n]*\r\n(?:[^\r\n]+\r\n)*?(?:content-length|transfer-encoding|connection|proxy-connection|upgrade):/i
const HOST = 'a.example'

/**
 * Gives streams of requests to our reader, whole and in pieces, and to llhttp. Throws the first stream in which we find a request that
 * llhttp does not find there, or that means something else.
 */
export function fuzzRequestReader(
  options: { seed: number; from: number; streams: number },
  onCase?: (run: ReadersRun) => void,
): Promise<ReadersRun> {
  return fuzz(options, onCase, (random) => {
    const { text, isValid, count } = makeRequests(random, HOST)
    return { text, judge: (changed) => judgeRequests(changed, random, isValid && changed === text ? count : 0) }
  })
}

/** The same with the answers of an application, each stream on a connection of its own, which closes behind it. */
export function fuzzAnswerReader(
  options: { seed: number; from: number; streams: number },
  onCase?: (run: ReadersRun) => void,
): Promise<ReadersRun> {
  return fuzz(options, onCase, (random) => {
    const stream = makeAnswers(random)
    return {
      text: stream.text,
      judge: (changed) => judgeAnswers({ ...stream, text: changed, isValid: stream.isValid && changed === stream.text }, random),
    }
  })
}

type Judged = ReadersRun | string

async function fuzz(
  { seed, from, streams }: { seed: number; from: number; streams: number },
  onCase: ((run: ReadersRun) => void) | undefined,
  make: (random: Random) => { text: string; judge(text: string): Judged },
): Promise<ReadersRun> {
  const total: ReadersRun = { messages: 0, accepted: 0, refused: 0 }
  for (let number = from; number < from + streams; number += 1) {
    const { text, judge } = make(Random.of(seed, number))
    const outcome = judge(text)
    if (typeof outcome === 'string') {
      const smallest = await minimise(text, async (shorter) => typeof judge(shorter) === 'string')
      throw disagreement({ caseNumber: number, text: smallest, why: outcome })
    }
    total.messages += outcome.messages
    total.accepted += outcome.accepted
    total.refused += outcome.refused
    onCase?.(total)
  }
  return total
}

function judgeRequests(text: string, random: Random, countIfValid: number): Judged {
  const bytes = Buffer.from(text, 'latin1')
  const ours = readRequestsByUs([bytes])
  const inPieces = readRequestsByUs(cut(bytes, random, 1))
  if (JSON.stringify(ours) !== JSON.stringify(inPieces))
    return `in pieces it is ${JSON.stringify(inPieces)}, and whole ${JSON.stringify(ours)}`
  const theirs = readReference(bytes)
  for (const [i, request] of ours.messages.entries()) {
    const other = theirs.messages[i]
    if (!other) return `we find ${ours.messages.length} requests and llhttp ${theirs.messages.length} (${JSON.stringify(theirs.end)})`
    const host = hostOf(other) ?? ''
    const { method, isHttp11, body } = other
    const same = { method, target: originForm(other), host, isHttp11, body, trailers: withoutProxyConnection(trailersBeyondHop(other)) }
    const mine = { ...request, trailers: withoutProxyConnection(request.trailers) }
    if (JSON.stringify(mine) !== JSON.stringify(same))
      return `request ${i + 1} is ${JSON.stringify(request)} for us and ${JSON.stringify(same)} for llhttp`
  }
  if (ours.messages.length < countIfValid)
    return `nothing is wrong with these ${countIfValid} requests, and we take ${ours.messages.length}`
  return {
    messages: Math.max(theirs.messages.length, ours.messages.length),
    accepted: ours.messages.length,
    refused: ours.end === 'refused' ? 1 : 0,
  }
}

function judgeAnswers({ text, methods, isValid }: AnswerStream, random: Random): Judged {
  const bytes = Buffer.from(text, 'latin1')
  const ours = readAnswersByUs([bytes], methods)
  const inPieces = readAnswersByUs(cut(bytes, random, 1), methods)
  if (JSON.stringify(ours) !== JSON.stringify(inPieces))
    return `in pieces it is ${JSON.stringify(inPieces)}, and whole ${JSON.stringify(ours)}`
  const theirs = finalAnswers(readAnswerReference(bytes, methods).messages)
  let areFramed = FRAMED_INTERIM.test(text)
  for (const [i, { status, body, trailers }] of ours.messages.entries()) {
    const other = theirs[i]
    areFramed ||= FRAMING.test(trailers.join('\n'))
    if (!other && areFramed) break // to llhttp they matter
    if (!other) return `we find ${ours.messages.length} answers and llhttp ${theirs.length}`
    const same = { status: other.status, body: withoutBlanks(other.body), trailers: withoutProxyConnection(other.trailers) }
    const mine = { status, body: withoutBlanks(body), trailers: withoutProxyConnection(trailers) }
    if (JSON.stringify(mine) !== JSON.stringify(same))
      return `answer ${i + 1} is ${JSON.stringify(mine)} for us and ${JSON.stringify(same)} for llhttp`
  }
  if (isValid && ours.messages.length < methods.length)
    return `nothing is wrong with these ${methods.length} answers, and we take ${ours.messages.length}`
  return {
    messages: Math.max(theirs.length, ours.messages.length),
    accepted: ours.messages.length,
    refused: ours.end === 'refused' ? 1 : 0,
  }
}

function finalAnswers(answers: readonly ReadAnswer[]): ReadAnswer[] {
  return answers.filter(({ status }) => status >= 200)
}

/** Blanks around lengths and codings are moved before llhttp reads them, and a body may look like fields. */
function withoutBlanks(body: string): string {
  return body.replaceAll(/(transfer-encoding|content-length):[ \t]*(chunked|\d+)[ \t]*/gi, '$1:$2')
}

/** What it says is taken out before llhttp reads it. */
function withoutProxyConnection(fields: readonly string[]): string[] {
  return fields.filter((_, i) => fields[i - (i % 2)]!.toLowerCase() !== 'proxy-connection')
}
