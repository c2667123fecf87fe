const PADDING = 'x'.repeat(2_000)

/** What a project's application answers: no two requests have the same. */
export function expectedBody(project: string, hostname: string, path: string): string {
  return `${project} ${hostname} ${path} ${PADDING}`
}
