import { defineConfig } from 'rolldown'

/** `npm run prepare` builds what the launcher and the supervisor start, packages included, to dist/ (docs/decisions/0108). */
export default defineConfig({
  input: { 'cli/main': 'src/cli/main.ts', main: 'src/main.ts', 'replica/copy-check-thread': 'src/replica/copy-check-thread.ts' },
  platform: 'node',
  output: { dir: 'dist', cleanDir: true },
})
