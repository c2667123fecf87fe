import type { Answer, Call, CallOptions, TestApi } from './api.ts'
import { linkToken, type TestMail, textOf } from './mail.ts'

/** Somebody at a browser: keeps cookies as one does, and says where its requests come from. */
export type Person = {
  email: string
  cookies: Map<string, string>
  call: Call
  /** Asks for a link, reads the mail, and follows it. */
  signIn(): Promise<Answer>
  /** Asks for a link and reads the mail: the link's token. */
  askForLink(): Promise<string>
}

export function createPerson(api: Pick<TestApi, 'call'>, mail: TestMail, email: string, headers: Record<string, string> = {}): Person {
  const cookies = new Map<string, string>()
  const origin = { origin: 'https://portal.namesake.test', 'sec-fetch-site': 'same-origin', ...headers }
  const call = async (method: string, path: string, options: CallOptions = {}): Promise<Answer> => {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const sent = { ...origin, ...(cookie !== '' && { cookie }), ...options.headers }
    const answer = await api.call(method, path, { ...options, headers: sent })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) keep(cookies, line)
    return answer
  }
  const askForLink = async () => {
    const asked = await call('POST', '/v1/auth/request-magic-link', { body: { email } })
    if (asked.status !== 202) throw new Error(asked.text)
    return linkToken(textOf(await mail.next(email.toLowerCase())))
  }
  return {
    email,
    cookies,
    call,
    askForLink,
    signIn: async () => call('POST', '/v1/auth/callback', { body: { token: await askForLink() } }),
  }
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair] = line.split(';')
  const [name, value] = pair!.split('=') as [string, string]
  if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name)
  else cookies.set(name, value)
}
