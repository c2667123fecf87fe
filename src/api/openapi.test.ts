import { beforeAll, expect, test } from 'vitest'
import { readDocument } from '../../tools/openapi-document.ts'
import { PROBLEMS } from './problems.ts'

type Operation = {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  security?: object[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: object }[]
  requestBody?: { required: boolean }
  responses: Record<string, { description?: string; content?: Record<string, { schema: object }> }>
}

let document: Awaited<ReturnType<typeof readDocument>>
let operations: { name: string; path: string; operation: Operation }[]

beforeAll(async () => {
  document = await readDocument()
  operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
  )
})

test('every operation has an operationId of its own, a summary, a description and a tag', () => {
  for (const { name, operation } of operations) {
    expect(operation, name).toMatchObject({
      operationId: expect.stringMatching(/^[a-z][A-Za-z]+$/),
      summary: expect.stringMatching(/.{5,}/),
      description: expect.stringMatching(/.{10,}/),
      tags: [expect.any(String)],
    })
  }
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length)
})

test('a body is required where one of its fields is', () => {
  const withBody = operations.filter(({ operation }) => operation.requestBody)
  const optional = withBody.filter(({ operation }) => !operation.requestBody!.required)
  expect(optional.map(({ operation }) => operation.operationId)).toEqual(['changeProject', 'issueToken'])
  expect(withBody.length).toBeGreaterThan(5)
})

const OPEN = [
  '/healthz',
  '/v1/openapi.json',
  '/v1/docs',
  '/v1/auth/request-magic-link',
  '/v1/auth/magic-link',
  '/v1/auth/callback',
  '/v1/auth/sign-out',
]

function credentialsOf(path: string): object[] {
  if (OPEN.includes(path)) return []
  if (path.startsWith('/v1/edge')) return [{ token: [] }]
  if (path.startsWith('/v1/connect')) return [{ connect: [] }]
  return path.startsWith('/v1/portal/projects/{slug}/domains') ? [{ session: [] }, { token: [] }] : [{ session: [] }]
}

test('every operation says whether it needs a token or a session, and how it fails', () => {
  for (const { name, path, operation } of operations) {
    const statuses = Object.keys(operation.responses)
    expect(operation.security, name).toEqual(credentialsOf(path))
    expect(statuses, name).toContain('500')
    expect(
      statuses.some((status) => status.startsWith('2')),
      name,
    ).toBe(true)
    if (operation.security!.length > 0) expect(statuses, name).toEqual(expect.arrayContaining(['401', '503']))
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(response.description, `${name} ${status}`).toBeTruthy()
      if (Number(status) < 400) continue
      expect(Object.keys(response.content!), `${name} ${status}`).toEqual(['application/problem+json'])
      expect(response.description, `${name} ${status}`).toMatch(/^`[a-z_]+`: /)
    }
  }
})

test('every part of a path is described as a parameter, and every parameter has a description', () => {
  for (const { name, path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    const parameters = operation.parameters ?? []
    expect(
      parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name),
      name,
    ).toEqual(inPath)
    for (const parameter of parameters) {
      expect(parameter.description, `${name} ${parameter.name}`).toBeTruthy()
      if (parameter.in === 'path') expect(parameter.required).toBe(true)
    }
  }
})

test('no reference dangles, and no schema is unused', () => {
  const text = JSON.stringify(document)
  const named = (document.components as { schemas: object }).schemas
  const references = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!))
  expect([...references].toSorted()).toEqual(
    Object.keys(named)
      .map((name) => `#/components/schemas/${name}`)
      .toSorted(),
  )
})

test('only 401, 402, 404, 409 and their like appear with codes that have exactly that status', () => {
  for (const { name, operation } of operations) {
    for (const [status, { description }] of Object.entries(operation.responses)) {
      for (const [, code] of (description ?? '').matchAll(/`([a-z_]+)`: /g)) {
        expect(PROBLEMS[code as keyof typeof PROBLEMS]?.status, `${name} ${code}`).toBe(Number(status))
      }
    }
  }
})
