import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { deployFiles, imageSettings, type Manifest, manifests, ROOT, readYaml } from '../support/deploy-files.ts'

type Container = {
  args: string[]
  ports: { name: string; containerPort: number }[]
  envFrom: ({ configMapRef: { name: string } } | { secretRef: { name: string } })[]
  readinessProbe: { httpGet: { path: string; port: string } }
  livenessProbe?: unknown
  lifecycle: { preStop: { exec: { command: string[] } } }
  securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean }
  volumeMounts: { name: string; mountPath: string }[]
}
type PodSpec = {
  enableServiceLinks?: boolean
  terminationGracePeriodSeconds: number
  securityContext: { runAsNonRoot: boolean }
  containers: [Container]
}
type Workload = Manifest & { spec: { template: { metadata: { labels: Record<string, string> }; spec: PodSpec } } }
type Service = Manifest & { spec: { selector: Record<string, string>; ports: { targetPort?: string; port: number }[] } }

const DRAIN_S = 40
const all = manifests()
const ofKind = <T extends Manifest>(...kinds: string[]) => all.filter(({ kind }) => kinds.includes(kind)) as T[]
const workloads = ofKind<Workload>('Deployment', 'StatefulSet', 'DaemonSet')

describe("Kubernetes' own schemas", () => {
  test.each(all.map((manifest) => ({ name: `${manifest.kind} ${manifest.metadata.name}`, manifest })))(
    'have nothing against the $name',
    async ({ manifest: { path: _, ...object } }) => {
      const models = (await import(/* @vite-ignore */ `kubernetes-models/${object.apiVersion}`)) as Record<
        string,
        new (
          data: unknown,
        ) => { validate(): void }
      >
      const Model = models[object.kind]!
      expect(() => new Model(object).validate()).not.toThrow()
    },
  )

  test('know every field: a manifest is checked as strictly as kubectl does', { timeout: 60_000 }, () => {
    const place = join(ROOT, 'node_modules/.cache')
    mkdirSync(place, { recursive: true })
    const dir = mkdtempSync(join(place, 'manifests-'))
    try {
      const lines = all.map(({ path: _, ...object }, n) => [
        `import type { I${object.kind} as Kind${n} } from 'kubernetes-models/${object.apiVersion}'`,
        `export const object${n}: Kind${n} = ${JSON.stringify(object)}`,
      ])
      writeFileSync(join(dir, 'manifests.ts'), lines.flat().join('\n'))
      const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024', '--types', '']
      const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['--ignoreConfig', ...flags, join(dir, 'manifests.ts')], {
        encoding: 'utf8',
      })
      expect(stdout).toBe('')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

describe('every pod of ours', () => {
  test.each(workloads)('$kind $metadata.name takes no variables from services, is not root, and drains before it is killed', ({ spec }) => {
    const pod = spec.template.spec
    const [container] = pod.containers
    expect(pod.enableServiceLinks).toBe(false)
    expect(pod.securityContext.runAsNonRoot).toBe(true)
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
    const sleepS = Number(container.lifecycle.preStop.exec.command[1])
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(sleepS + DRAIN_S)
  })

  test.each(workloads)(
    '$kind $metadata.name is asked for its role at /ready on the internal port, and never restarted for its answer',
    ({ metadata, spec }) => {
      const [container] = spec.template.spec.containers
      expect(container.readinessProbe.httpGet).toEqual({ path: `/ready?role=${metadata.name}`, port: 'internal' })
      expect(container.ports).toContainEqual({ name: 'internal', containerPort: 4001 })
      expect(container.livenessProbe).toBeUndefined()
    },
  )

  test.each(workloads)("$kind $metadata.name has its data in a folder of its own on its volume, whose root is root's", ({ spec }) => {
    const { mountPath } = spec.template.spec.containers[0].volumeMounts.find(({ name }) => name === 'data')!
    expect(dirname(imageSettings().NAMESAKE_DATA_DIR!)).toBe(mountPath)
  })
})

describe('what refers to something', () => {
  test('services, budgets and policies select pods that there are, by ports that these have', () => {
    const labels = workloads.map(({ spec }) => spec.template.metadata.labels)
    for (const service of ofKind<Service>('Service')) {
      const pod = workloads.find(({ spec }) => matches(service.spec.selector, spec.template.metadata.labels))
      const ports = pod?.spec.template.spec.containers[0].ports.flatMap(({ name, containerPort }) => [name, containerPort])
      expect(ports, service.metadata.name).toEqual(
        expect.arrayContaining(service.spec.ports.map(({ targetPort, port }) => targetPort ?? port)),
      )
    }
    const selectors = [
      ...ofKind<Manifest & { spec: { selector: { matchLabels: Record<string, string> } } }>('PodDisruptionBudget').map(
        ({ spec }) => spec.selector,
      ),
      ...ofKind<Manifest & { spec: { podSelector: { matchLabels?: Record<string, string> } } }>('NetworkPolicy').map(
        ({ spec }) => spec.podSelector,
      ),
    ]
    expect(selectors.length).toBeGreaterThan(workloads.length)
    for (const { matchLabels = {} } of selectors) expect(labels.some((of) => matches(matchLabels, of))).toBe(true)
  })

  test('settings and secrets are there or in the example, which holds no secret', () => {
    const named = (kind: string) => ofKind<Manifest>(kind).map(({ metadata }) => metadata.name)
    for (const { spec } of workloads) {
      for (const source of spec.template.spec.containers[0].envFrom) {
        if ('secretRef' in source) expect(named('Secret')).toContain(source.secretRef.name)
        else expect(named('ConfigMap')).toContain(source.configMapRef.name)
      }
    }
    for (const secret of ofKind<Manifest & { stringData: Record<string, string> }>('Secret')) {
      expect(secret.path).toBe('kubernetes/secrets.example.yaml')
      expect(secret.stringData.NAMESAKE_SECRET).toBe('')
    }
  })

  test('the kustomization has every file but the example', () => {
    const [{ resources }] = readYaml('kubernetes/kustomization.yaml') as [{ resources: string[] }]
    const files = deployFiles('kubernetes/*.yaml').map(({ path }) => basename(path))
    expect([...resources, 'kustomization.yaml', 'secrets.example.yaml'].sort()).toEqual(files)
  })
})

function matches(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value)
}
