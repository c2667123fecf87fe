import { Html, html, inline, prose } from '../lib/html.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { PROBLEMS } from './problems.ts'

export type JsonSchema = {
  $ref?: string
  type?: string
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  enum?: string[]
  const?: string
  format?: string
  examples?: unknown[]
}

type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: JsonSchema }

type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: object[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: JsonSchema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: JsonSchema }> }>
}

/** The parts of an OpenAPI document that the page shows. */
export type Reference = {
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, JsonSchema> }
}

type Endpoint = { method: string; path: string; operation: Operation }

/** The API's reference as one page, made from its own OpenAPI document: nothing to load, nothing to run. */
export function renderReference(reference: Reference): string {
  const endpoints = Object.entries(reference.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  )
  const groups = reference.tags.map((tag) => ({
    ...tag,
    endpoints: endpoints.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const { title, version, description } = reference.info
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} API reference</title>
<style>${new Html(DOCS_STYLE)}</style>
</head>
<body>
<div class="page">
<header>
<h1>${title} API <small>${version}</small></h1>
${prose(description)}
<p>Send the token of your project with every request: <code>Authorization: Bearer svc_…</code> Every path begins at <code>${reference.servers[0]?.url}</code>.</p>
</header>
<nav aria-label="Contents">${groups.map(
    (group) =>
      html`<h2>${group.name}</h2><ul>${group.endpoints.map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`)}</ul>`,
  )}<h2>More</h2><ul><li><a href="#errors">Errors</a></li><li><a href="/v1/openapi.json">OpenAPI document</a></li></ul></nav>
<main>
${groups.map((group) => html`<section><h2>${group.name}</h2>${prose(group.description)}${group.endpoints.map((endpoint) => renderEndpoint(endpoint, reference))}</section>`)}
<section><h2 id="errors">Errors</h2>
<p>Every error is <code>application/problem+json</code> with <code>type</code>, <code>title</code>, <code>status</code>, <code>code</code>, <code>detail</code> and <code>requestId</code>. Decide by <code>code</code>; show <code>detail</code>.</p>
<dl>${Object.entries(PROBLEMS).map(([code, { status, title, remedy }]) => html`<dt id="${code}"><code>${code}</code><span>${status}</span></dt><dd>${title}. ${remedy}</dd>`)}</dl></section>
</main>
</div>
</body>
</html>
`.text
}

function renderEndpoint(endpoint: Endpoint, reference: Reference): Html {
  const { method, path, operation } = endpoint
  const body = operation.requestBody?.content['application/json']?.schema
  return html`<article>
<h3 id="${operation.operationId}"><a href="#${operation.operationId}">${operation.summary}</a></h3>
<div class="call"><span class="method ${method}">${method.toUpperCase()}</span><code>${path}</code></div>
${prose(operation.description)}
<pre><code>${curl(endpoint, reference)}</code></pre>
${operation.parameters && html`<h4>Parameters</h4><dl>${operation.parameters.map((parameter) => renderParameter(parameter))}</dl>`}
${body && html`<h4>Body</h4>${renderFields(body, reference)}`}
<h4>Answers</h4>
<dl>${Object.entries(operation.responses).map(([status, response]) => renderResponse(status, response, reference))}</dl>
</article>`
}

function renderParameter(parameter: Parameter): Html {
  const values = parameter.schema.enum && ` · ${parameter.schema.enum.join(' or ')}`
  return html`<dt><code>${parameter.name}</code><span>${parameter.in}${parameter.required ? '' : ', optional'}${values}</span></dt><dd>${inline(parameter.description ?? parameter.schema.description ?? '')}</dd>`
}

function renderResponse(status: string, response: Operation['responses'][string], reference: Reference): Html {
  const schema = response.content?.['application/json']?.schema
  const fields = schema && renderFields(schema, reference)
  return html`<dt><code>${status}</code></dt><dd>${inline(response.description)}${fields && html`<details><summary>Fields</summary>${fields}</details>`}</dd>`
}

function renderFields(schema: JsonSchema, reference: Reference): Html | undefined {
  const resolved = deref(schema, reference)
  if (resolved.items) return renderFields(resolved.items, reference)
  const object = resolved.anyOf?.find(({ properties }) => properties) ?? resolved
  const fields = Object.entries(object.properties ?? {})
  if (fields.length === 0) return undefined
  return html`<dl>${fields.map(
    ([name, field]) =>
      html`<dt><code>${name}</code><span>${typeOf(deref(field, reference))}${object.required?.includes(name) ? '' : ', optional'}</span></dt><dd>${inline(field.description ?? '')}${renderFields(field, reference)}</dd>`,
  )}</dl>`
}

function deref(schema: JsonSchema, reference: Reference): JsonSchema {
  return schema.$ref ? (reference.components.schemas[schema.$ref.split('/').at(-1)!] ?? schema) : schema
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.const) return `"${schema.const}"`
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  if (schema.type === 'array') return `array of ${schema.items?.properties ? 'objects' : 'values'}`
  return schema.format === 'date-time' ? 'time (ISO 8601, UTC, milliseconds)' : schema.format === 'uri' ? 'URL' : (schema.type ?? '')
}

function curl({ method, path, operation }: Endpoint, reference: Reference): string {
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query' && parameter.required)
  const inPath = new Map(operation.parameters?.map(({ name, schema }) => [name, String(schema.examples?.[0] ?? name)]))
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => inPath.get(name) ?? name)
  const search = query.map(({ name, schema }) => `${name}=${String(schema.examples?.[0] ?? '')}`).join('&')
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}'${reference.servers[0]?.url}${target}${search && `?${search}`}'`,
  ]
  if (operation.security.some((way) => 'token' in way)) lines.push(`-H 'Authorization: Bearer svc_…'`)
  else if (operation.security.some((way) => 'connect' in way)) lines.push(`-H 'Authorization: Connect …'`)
  else if (operation.security.length > 0) lines.push(`-b '__Host-namesake_session=…'`)
  const body = operation.requestBody?.content['application/json']?.schema
  if (body) lines.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(exampleOf(body, reference))}'`)
  return lines.join(' \\\n  ')
}

/** A body made of the fields' own examples; of what may be left out only what has one. */
function exampleOf(schema: JsonSchema, reference: Reference): unknown {
  const { examples, properties, items, enum: values } = deref(schema, reference)
  if (examples?.length) return examples[0]
  if (values) return values[0]
  if (items) return [exampleOf(items, reference)]
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, exampleOf(field, reference)])
  return fields.length === 0 ? '…' : Object.fromEntries(fields)
}
