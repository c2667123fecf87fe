import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** What visitors meet must be the same with both ways of framing HTTP/2: these run a second time with Node's module. */
const HTTP2_TESTS = [
  'attacks',
  'bridging',
  'bulk',
  'error-page',
  'failures',
  'handshake',
  'interim',
  'own-bodies',
  'refusals',
  'requests',
  'stop',
  'streaming',
  'validation',
  'wildcards',
].map((name) => `src/edge/${name}.test.ts`)

/** And all that they and others meet must be the same with the edge in a process of Bun's. */
const BUN_TESTS = [
  ...HTTP2_TESTS,
  ...[
    'admission',
    'early-answers',
    'grpc',
    'http2/attacks',
    'http2-upstreams',
    'port80',
    'proxy-protocol',
    'tls-attacks',
    'tunnel',
    'unknown-names',
    'upstream-goodbyes',
  ].map((name) => `src/edge/${name}.test.ts`),
  'test/edge-safety/*.test.ts',
  'test/rolling.test.ts',
]

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: Math.min(4, Math.max(2, availableParallelism() - 1)), // most tests wait for processes and clocks more than they compute
    testTimeout: 300_000,
    hookTimeout: 180_000,
    teardownTimeout: 20_000,
    expect: { poll: { timeout: 30_000 } }, // a second, which is the default, passes on a busy machine without anything having been done, and ten while a process starts
    projects: [
      {
        extends: true,
        test: {
          name: 'namesake',
          include: ['src/**/*.test.ts', 'bench/**/*.test.ts', 'test/**/*.test.ts', 'sdk/**/*.test.ts', 'portal/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      { extends: true, test: { name: 'node-http2', include: HTTP2_TESTS, env: { TEST_HTTP2_ENGINE: 'node' } } },
      { extends: true, test: { name: 'bun', include: BUN_TESTS, env: { TEST_EDGE_RUNTIME: 'bun' } } },
    ],
  },
})
