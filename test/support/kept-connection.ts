import type { Agent, ClientRequest } from 'node:http'
import { text } from 'node:stream/consumers'

/** For how long at least a connection may rest with those that drain before they close it. */
export const EDGE_RESTS_MS = 1_900
export const API_RESTS_MS = 900

/** When the agent's last answer was whole. */
const restsSince = new WeakMap<Agent, number>()

/**
 * One request over the agent's only connection. It is sent once more, as browsers do, only where this process was itself kept from using the connection
 * for as long as its server promises to wait; every other request that is not answered rejects.
 */
export async function askKept(
  agent: Agent,
  restsMs: number,
  begin: () => ClientRequest,
  body?: string,
): Promise<{ status: number; body: string }> {
  const restedMs = performance.now() - (restsSince.get(agent) ?? performance.now())
  const sent = begin()
  const answer = await answerTo(sent, body).catch((error: NodeJS.ErrnoException) => {
    const mayRepeat = sent.reusedSocket && error.code === 'ECONNRESET' && restedMs >= restsMs
    return mayRepeat ? answerTo(begin(), body) : Promise.reject(error)
  })
  restsSince.set(agent, performance.now())
  return answer
}

function answerTo(sent: ClientRequest, body: string | undefined): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    sent.on('response', (answer) => void text(answer).then((whole) => resolve({ status: answer.statusCode!, body: whole }), reject))
    sent.on('error', reject).end(body)
  })
}
