import { expect, test } from 'vitest'
import { bodyOf, withSection } from './results.ts'

test('a measurement replaces its own section and leaves the others as they are', () => {
  const before = '# Head\n\nWords.\n\n## claim\n\nold claim\n\n## probe\n\n### detail\n\nprobe stays\n'
  const after = withSection(before, '## claim\n\nnew claim\n')
  expect(after).toBe('# Head\n\nWords.\n\n## claim\n\nnew claim\n\n## probe\n\n### detail\n\nprobe stays\n')
})

test('a first measurement finds its place by name', () => {
  expect(withSection('# Head\n\n## a\n\n1\n\n## c\n\n3\n', '## b\n\n2\n')).toBe('# Head\n\n## a\n\n1\n\n## b\n\n2\n\n## c\n\n3\n')
  expect(withSection('# Head\n', '## a\n\n1\n')).toBe('# Head\n\n## a\n\n1\n')
})

test('a saved section shows the plot of each table, a printed one does not', () => {
  const results = { tables: [{ title: 'Small', rows: [['proxy'], ['nginx']], plot: { file: 'small.svg', svg: '<svg/>' } }] }
  expect(bodyOf(results, 'edge')).toContain('Small\n\n![Small](plots/edge-small.svg)\n\n| proxy |')
  expect(bodyOf(results)).not.toContain('plots/')
})
