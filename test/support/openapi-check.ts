import Schema from 'typebox/schema'

type Json = Record<string, unknown>
type Operation = { responses: Record<string, { content?: Record<string, { schema: Json }> }> }
export type OpenApiDocument = Json & { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Json> } }
export type CheckedAnswer = { status: number; headers: Record<string, unknown>; text: string }

/** Throws when the document does not allow this answer to this request: status, media type and every field count. */
export type AnswerCheck = (method: string, path: string, answer: CheckedAnswer) => void

// Answers of the server as a whole, which no operation lists.
const EVERYWHERE: Record<string, string> = { '404': 'route_not_found', '405': 'method_not_allowed', '400': 'request_malformed' }

export function createAnswerCheck(document: OpenApiDocument): AnswerCheck {
  const routes = Object.entries(document.paths).map(([path, operations]) => ({ pattern: patternOf(path), path, operations }))
  const validators = new Map<object, ReturnType<typeof Schema.Compile>>()
  const validatorOf = (schema: Json) => {
    const known = validators.get(schema) ?? Schema.Compile({ ...schema, components: document.components } as never)
    validators.set(schema, known)
    return known
  }
  const fits = (schema: Json, value: unknown): string | undefined => {
    const validator = validatorOf(schema)
    return validator.Check(value) ? undefined : JSON.stringify(validator.Errors(value)[1])
  }

  return (method, path, answer) => {
    const fail = (why: string) => {
      throw new Error(
        `${method} ${path} answered ${answer.status}, which the OpenAPI document does not allow: ${why}\n${answer.text.slice(0, 500)}`,
      )
    }
    if (typeof answer.headers['x-request-id'] !== 'string') fail('it has no X-Request-Id')
    const type = String(answer.headers['content-type'] ?? '').split(';')[0]!
    const problem = answer.status >= 400 && answer.text !== '' ? (JSON.parse(answer.text) as { code: string; status: number }) : undefined
    if (problem) {
      if (type !== 'application/problem+json') fail(`an error of type ${type}`)
      const misfit = fits({ $ref: '#/components/schemas/Problem' }, problem)
      if (misfit) fail(misfit)
      if (problem.status !== answer.status) fail('status and body differ')
      if (EVERYWHERE[answer.status] === problem.code) return
    }
    const plain = path.split('?')[0]!
    const operation = routes.find(({ pattern, operations }) => pattern.test(plain) && operations[method.toLowerCase()])?.operations[
      method.toLowerCase()
    ]
    if (!operation) return method === 'HEAD' ? undefined : fail('the operation is not there')
    const response = operation.responses[answer.status]
    if (!response) return fail('the status is not listed')
    if (!response.content) return answer.text === '' ? undefined : fail('it has a body')
    const media = response.content[type]
    if (!media) return fail(`the type ${type} is not listed`)
    if (!type.endsWith('json')) return
    const misfit = fits(media.schema, JSON.parse(answer.text))
    if (misfit) fail(misfit)
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`)
}
