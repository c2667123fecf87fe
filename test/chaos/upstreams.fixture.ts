// The applications of some projects: `node upstreams.fixture.ts ADDRESS PROJECT:PORT…`. Each answers with its project, the hostname it was
// asked for and the path, so that nobody can mistake whose answer it is.
import { createServer } from 'node:http'
import { expectedBody } from './expected-body.ts'

const [address, ...projects] = process.argv.slice(2)
for (const [project, port] of projects.map((word) => word.split(':') as [string, string])) {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.end(expectedBody(project, request.headers.host ?? '', request.url ?? '')))
  })
  server.keepAliveTimeout = 60_000
  server.listen(Number(port), address)
}
