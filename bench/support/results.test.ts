import { expect, test } from 'vitest'
import { withSection } from './results.ts'

test('a measurement replaces its own section and leaves the others as they are', () => {
  const before = '# Head\n\nWords.\n\n## claim\n\nold claim\n\n## probe\n\n### detail\n\nprobe stays\n'
  const after = withSection(before, '## claim\n\nnew claim\n')
  expect(after).toBe('# Head\n\nWords.\n\n## claim\n\nnew claim\n\n## probe\n\n### detail\n\nprobe stays\n')
})

test('a first measurement finds its place by name', () => {
  expect(withSection('# Head\n\n## a\n\n1\n\n## c\n\n3\n', '## b\n\n2\n')).toBe('# Head\n\n## a\n\n1\n\n## b\n\n2\n\n## c\n\n3\n')
  expect(withSection('# Head\n', '## a\n\n1\n')).toBe('# Head\n\n## a\n\n1\n')
})
