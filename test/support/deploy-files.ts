import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A file below deploy/, by its path from there. */
export type DeployFile = { path: string; text: string }

/** The object of a Kubernetes manifest, as far as the tests look into it. */
export type Manifest = { path: string; apiVersion: string; kind: string; metadata: { name: string } } & Record<string, unknown>

/** Every file below deploy/ that matches. */
export function deployFiles(pattern = '**/*.*'): DeployFile[] {
  const paths = globSync([pattern, 'Dockerfile'], { cwd: join(ROOT, 'deploy') })
  const wanted = pattern === '**/*.*' ? paths : paths.filter((path) => path !== 'Dockerfile')
  return wanted.sort().map((path) => ({ path, text: readDeploy(path) }))
}

/** One file below deploy/. */
export function readDeploy(path: string): string {
  return readFileSync(join(ROOT, 'deploy', path), 'utf8')
}

/** The settings that the Dockerfile makes. */
export function imageSettings(): Record<string, string> {
  return Object.fromEntries([...readDeploy('Dockerfile').matchAll(/\b(NAMESAKE_[A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]))
}

/** The objects of a YAML file, merge keys resolved. Throws with the file's name on what is no YAML. */
export function readYaml(path: string): unknown[] {
  return parseAllDocuments(readDeploy(path), { merge: true }).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors.join('; ')}`)
    return document.toJS() as unknown
  })
}

/** Every object of deploy/kubernetes but the kustomization. */
export function manifests(): Manifest[] {
  return deployFiles('kubernetes/*.yaml')
    .filter(({ path }) => basename(path) !== 'kustomization.yaml')
    .flatMap(({ path }) => (readYaml(path) as Omit<Manifest, 'path'>[]).map((object) => ({ path, ...object }) as Manifest))
}
